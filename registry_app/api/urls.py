"""Every address of the API, mounted at /api/v1/."""

from django.urls import path, re_path

from registry_app.api.audit_entry import AuditEntryViews
from registry_app.api.cluster import ClusterViews
from registry_app.api.document_views import DocumentView, ViewerView
from registry_app.api.finding import FindingViews
from registry_app.api.freeze import FreezeViews
from registry_app.api.held_snapshot import HeldSnapshotViews
from registry_app.api.instance import InstanceViews
from registry_app.api.loop import LoopViews
from registry_app.api.loop_run import LoopRunViews
from registry_app.api.owner import OwnerViews
from registry_app.api.provider import ProviderViews
from registry_app.api.record_set import RecordSetViews
from registry_app.api.registry_profile import RegistryProfileViews
from registry_app.api.sync_run import SyncRunViews
from registry_app.api.throttle import RequestThrottle
from registry_app.api.token import TokenViews
from registry_app.api.transfer import TransferViews
from registry_app.api.unknown_address import UnknownAddress

urlpatterns = [
    path("record-sets/", RecordSetViews.at(get="list")),
    path("record-sets/<int:pk>/", RecordSetViews.at(get="retrieve")),
    path("record-sets/<int:pk>/events/", RecordSetViews.at(get="events")),
    path("owners/", OwnerViews.at(get="list", post="create")),
    path("owners/<int:pk>/", OwnerViews.at(get="retrieve", patch="partial_update", delete="destroy")),
    path("instances/", InstanceViews.at(get="list", post="create")),
    path(
        "instances/<int:pk>/",
        InstanceViews.at(get="retrieve", patch="partial_update", delete="destroy"),
    ),
    path("clusters/", ClusterViews.at(get="list", post="create")),
    path("clusters/<int:pk>/", ClusterViews.at(get="retrieve", patch="partial_update", delete="destroy")),
    path("clusters/<int:pk>/connection-tests/", ClusterViews.at(post="connection_tests")),
    path("registry-profiles/", RegistryProfileViews.at(get="list", post="create")),
    path(
        "registry-profiles/<int:pk>/",
        RegistryProfileViews.at(get="retrieve", patch="partial_update", delete="destroy"),
    ),
    path("registry-profiles/<int:pk>/connection-tests/", RegistryProfileViews.at(post="connection_tests")),
    path("providers/", ProviderViews.at(get="list", post="create")),
    path("providers/<int:pk>/", ProviderViews.at(get="retrieve", patch="partial_update", delete="destroy")),
    path("providers/<int:pk>/visits/", ProviderViews.at(post="visits")),
    path("providers/<int:pk>/connection-tests/", ProviderViews.at(post="connection_tests")),
    path("providers/<int:pk>/accept-restored/", ProviderViews.at(post="accept_restored")),
    path("providers/accept-all-restored/", ProviderViews.at(post="accept_all_restored")),
    path(
        "providers/<int:pk>/approval-change/confirm/",
        ProviderViews.at(post="confirm_approval_change"),
    ),
    path(
        "providers/<int:pk>/approval-change/cancel/",
        ProviderViews.at(post="cancel_approval_change"),
    ),
    path("held-snapshots/", HeldSnapshotViews.at(get="list")),
    path("held-snapshots/<int:pk>/", HeldSnapshotViews.at(get="retrieve")),
    path("held-snapshots/<int:pk>/accept/", HeldSnapshotViews.at(post="accept")),
    path("held-snapshots/<int:pk>/reject/", HeldSnapshotViews.at(post="reject")),
    path("findings/", FindingViews.at(get="list")),
    path("findings/<int:pk>/", FindingViews.at(get="retrieve")),
    path("findings/<int:pk>/acknowledge/", FindingViews.at(post="acknowledge")),
    path("transfers/", TransferViews.at(get="list", post="create")),
    path("transfers/preview/", TransferViews.at(post="preview")),
    path("transfers/<transfer:public_id>/", TransferViews.at(get="retrieve")),
    path("transfers/<transfer:public_id>/items/", TransferViews.at(get="items")),
    path("transfers/<transfer:public_id>/steps/", TransferViews.at(get="steps")),
    path("transfers/<transfer:public_id>/approve/", TransferViews.at(post="approve")),
    path("transfers/<transfer:public_id>/reject/", TransferViews.at(post="reject")),
    path("transfers/<transfer:public_id>/cancel/", TransferViews.at(post="cancel")),
    path("transfers/<transfer:public_id>/undo/", TransferViews.at(post="undo")),
    path("transfers/<transfer:public_id>/undo/preview/", TransferViews.at(post="preview_undo")),
    path("transfers/<transfer:public_id>/decide/", TransferViews.at(post="decide")),
    path("loops/", LoopViews.at(get="list", post="create")),
    path("loops/<int:pk>/", LoopViews.at(get="retrieve", patch="partial_update", delete="destroy")),
    path(
        "loops/<int:pk>/endpoints/",
        LoopViews.at(get="endpoints", put="replace_endpoints", post="create_endpoint"),
    ),
    path("loops/<int:pk>/endpoints/<int:endpoint_pk>/", LoopViews.at(delete="destroy_endpoint")),
    path("loops/<int:pk>/plan/", LoopViews.at(post="plan")),
    path("loops/<int:pk>/run/", LoopViews.at(post="run")),
    path("loop-runs/", LoopRunViews.at(get="list")),
    path("loop-runs/<uuid:public_id>/", LoopRunViews.at(get="retrieve")),
    path("freezes/", FreezeViews.at(get="list", post="create")),
    path("freezes/<int:pk>/", FreezeViews.at(get="retrieve", delete="destroy")),
    path("freezes/<int:pk>/lift/", FreezeViews.at(post="lift")),
    path("audit-entries/", AuditEntryViews.at(get="list")),
    path("audit-entries/<int:sequence>/", AuditEntryViews.at(get="retrieve")),
    path("tokens/", TokenViews.at(get="list", post="create")),
    path("tokens/<int:pk>/", TokenViews.at(get="retrieve", delete="destroy")),
    path("sync-runs/", SyncRunViews.at(get="list")),
    path("sync-runs/<int:pk>/", SyncRunViews.at(get="retrieve")),
    path("schema/", DocumentView.as_view(throttle_classes=[RequestThrottle]), name="api-schema"),
    path("docs/", ViewerView.as_view(url_name="api-schema"), name="api-docs"),
    re_path(r"^(?P<rest>.*)$", UnknownAddress.as_view()),
]
