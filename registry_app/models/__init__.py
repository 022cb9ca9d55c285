"""The rows, one noun a file. Constraints live in the database too."""

from registry_app.models.among import Among
from registry_app.models.approval_change import ApprovalChange
from registry_app.models.audit_entry import AuditCheckpoint, AuditEntry, AuditTail
from registry_app.models.claim import Claim
from registry_app.models.cluster import Cluster
from registry_app.models.consent import Consented
from registry_app.models.contention import Contention, ContentionCheck, ContentionOwner
from registry_app.models.database_claim import DatabaseClaim
from registry_app.models.encrypted_field import EncryptedTextField
from registry_app.models.finding import Finding
from registry_app.models.freeze import Freeze
from registry_app.models.generation import Generation
from registry_app.models.grant import Grant
from registry_app.models.guard_decision import (
    CLAIM_OF_ANOTHER,
    NO_OWNER,
    GuardCount,
    GuardDecision,
    GuardRule,
    GuardStep,
    HeldDelete,
)
from registry_app.models.guard_endpoint import DesiredEndpoint, DesiredSet, GuardEndpoint
from registry_app.models.hand_over import HandOver, HandOverItem
from registry_app.models.held_snapshot import HeldSnapshot
from registry_app.models.holds import Holds
from registry_app.models.idempotency_key import IdempotencyKey
from registry_app.models.instance import Instance, InstancePolicy
from registry_app.models.kept_count import KeptCount
from registry_app.models.loop import DeclaredEndpoint, Loop, LoopConfirmation, LoopPolicy, LoopRun, LoopStep
from registry_app.models.owner import Owner
from registry_app.models.provider import PROVIDER_SECRETS, Provider
from registry_app.models.record_event import RecordEvent
from registry_app.models.record_set import OwnershipState, RecordSet
from registry_app.models.registry_profile import RegistryProfile
from registry_app.models.saved_filter import ChosenColumns, SavedFilter
from registry_app.models.snapshot_index import SnapshotIndex, SnapshotIndexChunk
from registry_app.models.step import NEVER_SENT, UNSETTLED, Step, StepStatus
from registry_app.models.sync_run import SyncRun
from registry_app.models.token import ApiToken
from registry_app.models.transfer import Transfer, TransferItem, TransferStep

__all__ = [
    "CLAIM_OF_ANOTHER",
    "NEVER_SENT",
    "NO_OWNER",
    "PROVIDER_SECRETS",
    "UNSETTLED",
    "Among",
    "ApiToken",
    "ApprovalChange",
    "AuditCheckpoint",
    "AuditEntry",
    "AuditTail",
    "ChosenColumns",
    "Claim",
    "Cluster",
    "Consented",
    "Contention",
    "ContentionCheck",
    "ContentionOwner",
    "DatabaseClaim",
    "DeclaredEndpoint",
    "DesiredEndpoint",
    "DesiredSet",
    "EncryptedTextField",
    "Finding",
    "Freeze",
    "Generation",
    "Grant",
    "GuardCount",
    "GuardDecision",
    "GuardEndpoint",
    "GuardRule",
    "GuardStep",
    "HandOver",
    "HandOverItem",
    "HeldDelete",
    "HeldSnapshot",
    "Holds",
    "IdempotencyKey",
    "Instance",
    "InstancePolicy",
    "KeptCount",
    "Loop",
    "LoopConfirmation",
    "LoopPolicy",
    "LoopRun",
    "LoopStep",
    "Owner",
    "OwnershipState",
    "Provider",
    "RecordEvent",
    "RecordSet",
    "RegistryProfile",
    "SavedFilter",
    "SnapshotIndex",
    "SnapshotIndexChunk",
    "Step",
    "StepStatus",
    "SyncRun",
    "Transfer",
    "TransferItem",
    "TransferStep",
]
