"""Every address of the API, mounted at /api/v1/."""

from django.urls import path, re_path
from rest_framework.routers import SimpleRouter

from registry_app.api.audit_entry import AuditEntryViews
from registry_app.api.authentication import RequestThrottle
from registry_app.api.cluster import ClusterViews
from registry_app.api.contention import ContentionViews
from registry_app.api.desired_endpoint import DesiredEndpointViews
from registry_app.api.finding import FindingViews
from registry_app.api.freeze import FreezeViews
from registry_app.api.grant import GrantViews
from registry_app.api.guard_decision import GuardDecisionViews
from registry_app.api.guard_endpoint import GuardEndpointViews
from registry_app.api.guard_step import GuardStepViews
from registry_app.api.hand_over import HandOverViews
from registry_app.api.held_delete import HeldDeleteViews
from registry_app.api.held_snapshot import HeldSnapshotViews
from registry_app.api.instance import InstanceViews
from registry_app.api.loop import LoopViews
from registry_app.api.loop_run import LoopRunViews
from registry_app.api.owner import OwnerViews
from registry_app.api.problem import UnknownAddress
from registry_app.api.provider import ProviderViews
from registry_app.api.record_set import RecordSetViews
from registry_app.api.registry_profile import RegistryProfileViews
from registry_app.api.saved_filter import SavedFilterViews
from registry_app.api.schema import DocumentView, ViewerView
from registry_app.api.sync_run import SyncRunViews
from registry_app.api.token import TokenViews
from registry_app.api.transfer import TransferViews

_router = SimpleRouter(use_regex_path=False)
_router.register("record-sets", RecordSetViews)
_router.register("owners", OwnerViews)
_router.register("instances", InstanceViews)
_router.register("clusters", ClusterViews)
_router.register("registry-profiles", RegistryProfileViews)
_router.register("providers", ProviderViews)
_router.register("held-snapshots", HeldSnapshotViews)
_router.register("findings", FindingViews)
_router.register("transfers", TransferViews)
_router.register("hand-overs", HandOverViews)
_router.register("loops", LoopViews)
_router.register("loop-runs", LoopRunViews)
_router.register("guard-endpoints", GuardEndpointViews)
_router.register("desired-endpoints", DesiredEndpointViews)
_router.register("guard-decisions", GuardDecisionViews)
_router.register("held-deletes", HeldDeleteViews)
_router.register("guard-change-sets", GuardStepViews)
_router.register("contention", ContentionViews)
_router.register("freezes", FreezeViews)
_router.register("grants", GrantViews)
_router.register("saved-filters", SavedFilterViews)
_router.register("audit-entries", AuditEntryViews)
_router.register("tokens", TokenViews)
_router.register("sync-runs", SyncRunViews)

# The view of each list by its name.
LISTS = {name: view for name, view, _basename in _router.registry}

urlpatterns = [
    *_router.urls,
    path("schema/", DocumentView.as_view(throttle_classes=[RequestThrottle]), name="api-schema"),
    path("docs/", ViewerView.as_view(url_name="api-schema"), name="api-docs"),
    re_path(r"^(?P<rest>.*)$", UnknownAddress.as_view()),
]
