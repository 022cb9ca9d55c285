"""The registries there are, by the name that ExternalDNS gives them (`--registry`).

A new one is a file with its `RegistryKind`, and a line in this table.
"""

from collections.abc import Mapping
from types import MappingProxyType

from providers.stores.aws_sd_registry import AWS_SD_REGISTRY
from providers.stores.configmap_registry import CONFIGMAP_REGISTRY
from providers.stores.crd_registry import CRD_REGISTRY
from providers.stores.database_registry import DATABASE_REGISTRY
from providers.stores.dynamodb.store import DYNAMODB_REGISTRY
from providers.stores.noop_registry import NOOP_REGISTRY
from providers.stores.registry import RegistryKind
from providers.stores.txt_registry import TXT_REGISTRY

_KINDS = (
    TXT_REGISTRY,
    CONFIGMAP_REGISTRY,
    CRD_REGISTRY,
    DYNAMODB_REGISTRY,
    AWS_SD_REGISTRY,
    DATABASE_REGISTRY,
    NOOP_REGISTRY,
)

REGISTRIES: Mapping[str, RegistryKind] = MappingProxyType({kind.name: kind for kind in _KINDS})
DEFAULT_REGISTRY = TXT_REGISTRY.name
REGISTRY_CHOICES = [(kind.name, kind.label) for kind in _KINDS]

# For queries: the kinds that have a property.
KINDS_WITH_STORE = tuple(kind.name for kind in _KINDS if kind.has_store)
KINDS_WITH_RESYNC = tuple(kind.name for kind in _KINDS if kind.can_resync)
KINDS_BEHIND_GUARD = tuple(kind.name for kind in _KINDS if kind.is_behind_guard)
KINDS_WITHOUT_CLAIMS = tuple(kind.name for kind in _KINDS if not kind.keeps_claims)
# The labels of endpoints that are claims.
CLAIM_LABELS = tuple(kind.endpoint_claims.label for kind in _KINDS if kind.endpoint_claims)
