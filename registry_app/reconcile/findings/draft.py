"""A finding before it is a row."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from registry_app.models import Finding

Kind = Finding.Kind
Severity = Finding.Severity
JsonObject = dict[str, object]


@dataclass(frozen=True)
class FindingDraft:
    """One thing found. `subject` is what makes it the same finding the next time, within kind and provider.

    `suggestion` is a ready request: the fields of a transfer's request, or another act by its name.
    """

    kind: Kind
    severity: Severity
    subject: str
    explanation: str
    name: str = ""
    record_type: str = ""
    set_identifier: str = ""
    owner_id: str = ""
    suggestion: Mapping[str, object] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)

    def fingerprint(self, provider_id: int) -> bytes:
        """The 16 bytes under which it is one row, however often it is seen."""
        return compute_fingerprint(self.kind, provider_id, self.subject)


def compute_fingerprint(kind: Kind, provider_id: int, subject: str) -> bytes:
    """16 bytes over kind, provider and subject."""
    text = f"{kind.value}\0{provider_id}\0{subject}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
