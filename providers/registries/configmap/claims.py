"""The claims in a ConfigMap registry: an owner's own rows in its own map, and the intents beside them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from providers.registries.configmap.rows import Row
from providers.registries.errors import ForeignText, UnwritableLabel
from providers.registries.labels import OWNER, describe_unreadable_owner, format_labels, parse_labels
from providers.registries.stored_claim import StoredClaim
from providers.wire.endpoint import EndpointKey

_TWICE = "Its record set has more than one row, so there is no telling which one is meant."
_TWO_TEXTS = "Its row and the intent beside it say different things."
_NO_TARGETS = "The intent does not say which targets are meant."
_FOREIGN_INTENT = "The intent names another owner than the one whose map it is in."


def format_text(owner_id: str, labels: Mapping[str, str]) -> str:
    """The heritage text of a row. Raises UnwritableLabel."""
    if labels.get(OWNER, owner_id) != owner_id:
        raise UnwritableLabel("The labels of the row name another owner than the row itself.")
    return format_labels({**labels, OWNER: owner_id}, quoted=False)


def parse_text(text: str) -> tuple[str, dict[str, str]]:
    """Owner id and further labels of a heritage text that a row is to hold.

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


def read_claims(owner_id: str, rows: Iterable[Row], intents: Iterable[Row]) -> Iterator[StoredClaim]:
    """The claims of one owner's registry, each key once. Rows of others are opinions, and no claims."""
    settled, meant = _group(rows), _group(intents)
    for key, found in settled.items():
        claim = read_claim(owner_id, found, meant.get(key, ()))
        if claim is not None:
            yield claim
    for key, found in meant.items():
        if key not in settled and (claim := read_claim(owner_id, (), found)) is not None:
            yield claim


def read_claim(owner_id: str, rows: Iterable[Row], intents: Iterable[Row]) -> StoredClaim | None:
    """What the rows and intents of one record set claim for the owner whose map they are in, if anything."""
    rows, intents = tuple(rows), tuple(intents)
    # A row whose owner cannot be read may be the owner's: better a doubt than an unmanaged record set.
    own = [row for row in rows if row.owner_id == owner_id or row.owner_id is None]
    if not own and not intents:
        return None
    spoken = (*own, *intents)
    texts = [_read_text(owner_id, row) for row in spoken]
    problem = next((each for _, each in texts if each), "")
    if len(intents) > 1 or (own and len(rows) > 1):
        problem = problem or _TWICE
    if len({text for text, _ in texts}) > 1:
        problem = problem or _TWO_TEXTS
    if own or problem:
        return StoredClaim(spoken[0].key, texts[0][0], problem)
    problem = "" if intents[0].targets else _NO_TARGETS
    return StoredClaim(spoken[0].key, texts[0][0], problem, None if problem else intents[0].targets)


def _read_text(owner_id: str, row: Row) -> tuple[str, str]:
    """The text of a row, as far as it has one, and what is wrong with it."""
    if row.problem or row.owner_id is None:
        return "", row.problem or "The row does not say whose it is."
    if row.owner_id != owner_id:
        return "", _FOREIGN_INTENT
    try:
        text = format_text(row.owner_id, row.labels)
    except UnwritableLabel as error:
        return "", str(error)
    return text, describe_unreadable_owner(parse_labels(text) or {})


def _group(rows: Iterable[Row]) -> dict[EndpointKey, list[Row]]:
    groups: dict[EndpointKey, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.key].append(row)
    return groups
