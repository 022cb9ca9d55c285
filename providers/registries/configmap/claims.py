"""The claims in a ConfigMap registry: an owner's own rows in its own map, and the intents beside them."""

from collections.abc import Mapping

from providers.registries.configmap.rows import NO_KEY, Entry, Row
from providers.registries.errors import ForeignText, UnwritableLabel
from providers.registries.labels import OWNER, describe_unreadable_owner, format_labels, parse_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey


def format_text(owner_id: str, labels: Mapping[str, str]) -> str:
    """The heritage text of a row. Raises UnwritableLabel."""
    if labels.get(OWNER, owner_id) != owner_id:
        raise UnwritableLabel("The labels of the row name another owner than the row itself.")
    return format_labels({**labels, OWNER: owner_id}, quoted=False)


def parse_text(text: str) -> tuple[str, dict[str, str]]:
    """Owner id and further labels of a heritage text that is to be stored in a row.

    Raises ForeignText, and UnwritableLabel for a text that would not be read back the same.
    """
    labels = parse_labels(text)
    if labels is None:
        raise ForeignText("The text carries no ExternalDNS heritage, so no row can hold it.")
    problem = describe_unreadable_owner(labels)
    if problem:
        raise UnwritableLabel(problem)
    if format_labels(labels, quoted=False) != text:
        raise UnwritableLabel("The text holds more than labels, or in another order: a row has labels only.")
    return labels.pop(OWNER), labels


def read_claim(owner_id: str, key: EndpointKey, entry: Entry) -> StoredClaim | None:
    """What an entry claims for the owner whose map it is in, if anything. Rows of others are no claims."""
    # A row whose owner cannot be read may be the owner's: better a claim with a problem than no claim.
    own = [row for row in entry.rows if row.owner_id == owner_id or row.owner_id is None]
    if not own and not entry.intents:
        return None
    texts, problems = zip(*(_read_text(owner_id, row) for row in (*own, *entry.intents)), strict=True)
    meant_targets = None if own else entry.intents[0].targets
    problem = next(filter(None, problems), "")
    if not problem and (len(entry.intents) > 1 or (own and len(entry.rows) > 1)):
        problem = "Its record set has more than one row, so it is not known which one is meant."
    if not problem and len({*texts}) > 1:
        problem = "Its row and the intent beside it say different things."
    if not problem and not (own or meant_targets):
        problem = "The intent does not say which targets are meant."
    return StoredClaim(key, texts[0], problem, None if problem else meant_targets)


def read_claims(owner_id: str, entries: Mapping[EndpointKey, Entry]) -> list[StoredClaim]:
    """What entries claim for the owner whose map they are in."""
    found = (read_claim(owner_id, key, entry) for key, entry in entries.items() if key != NO_KEY)
    return [claim for claim in found if claim is not None]


def _read_text(owner_id: str, row: Row) -> tuple[str, str]:
    """The text of a row, as far as it has one, and what is wrong with it."""
    if row.problem or row.owner_id is None:
        return "", row.problem or "The row names no owner."
    if row.owner_id != owner_id:
        return "", "The intent names another owner than the one whose map it is in."
    try:
        text = format_text(row.owner_id, row.labels)
    except UnwritableLabel as error:
        return "", str(error)
    return text, describe_unreadable_owner(parse_labels(text) or {})
