"""Findings about the answer itself: its type, its filter, what was set aside."""

from collections.abc import Iterator

from providers.wire.json_codec import WEBHOOK_MEDIA_TYPE
from registry_app.reconcile.findings.draft import FindingDraft, Kind, Severity
from registry_app.reconcile.findings.scene import Scene


def find_set_aside(scene: Scene) -> Iterator[FindingDraft]:
    """Items that could not be taken over: the others were."""
    for item in scene.snapshot.set_aside:
        # The index moves with every shuffle of the answer; name, field and reason stay.
        field = item.path.partition("]")[2].lstrip(".")
        what = f"An item named {item.name}" if item.name else "An item without a readable name"
        yield FindingDraft(
            kind=Kind.SET_ASIDE,
            severity=Severity.WARNING,
            subject=f"{item.name}\0{field}\0{item.reason}",
            explanation=(
                f"{what} was set aside: {item.reason}. The rest of the response was stored. Record "
                "sets that it may replace or claim stay as they were. Correct it where it is created."
            ),
            name=item.name,
            details={"field": field, "reason": item.reason},
        )


def find_wrong_content_type(scene: Scene) -> Iterator[FindingDraft]:
    """Records under another media type: read all the same, as ExternalDNS reads them."""
    if not scene.snapshot.has_protocol_type:
        content_type = scene.snapshot.content_type or "none"
        yield FindingDraft(
            kind=Kind.WRONG_CONTENT_TYPE,
            severity=Severity.INFO,
            subject="",
            explanation=(
                f"{scene.provider_name} sends its records with the Content-Type {content_type}; the protocol "
                f"requires {WEBHOOK_MEDIA_TYPE}. Correct the provider, or the proxy in front of it."
            ),
        )


def find_filter_matches_all(scene: Scene) -> Iterator[FindingDraft]:
    """A filter list under a name that ExternalDNS does not read: it then matches everything."""
    found = scene.domain_filter
    if found is not None and found.said_filters and found.matches_everything:
        yield FindingDraft(
            kind=Kind.FILTER_MATCHES_ALL,
            severity=Severity.WARNING,
            subject="",
            explanation=(
                f"{scene.provider_name} negotiates its domain filter as `filters`, which ExternalDNS "
                "does not read: for ExternalDNS the provider manages every name. The list must be "
                "called `include`."
            ),
        )
