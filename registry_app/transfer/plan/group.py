"""What items of one plan mean for each other and for their neighbours: shared TXT records, batches. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from providers.wire.endpoint import EndpointKey
from registry_app.transfer.plan.claim_key import ZONE, ClaimKey, claim_key_of
from registry_app.transfer.plan.provider_plan import EndpointDict, PlannedItem
from registry_app.transfer.plan.subjects import Subject

_Changes = Mapping[ClaimKey, EndpointDict | None]


def leave_out_shared(items: Sequence[PlannedItem], neighbours: Iterable[Subject]) -> tuple[PlannedItem, ...]:
    """Leave out every item whose TXT record also covers a record set that is not part of the plan.

    A legacy claim speaks for all types at its name: rewriting it for one would move the others unasked.
    `neighbours` are all record sets at the names of the items, the items' own included.
    """
    result = _leave_out_entangled(items)
    speaks = _build_speakers(neighbours)
    count = -1
    while count != (count := sum(1 for item in result if not item.problem)):
        included = {_key_of(item) for item in result if not item.problem}
        result = [item if item.problem else _check_shared(item, included, speaks) for item in result]
    return tuple(result)


def assign_batches(items: Sequence[PlannedItem], size: int) -> tuple[PlannedItem, ...]:
    """Number the batches of at most `size` items. Items that share a TXT record go together, even beyond it.

    Items left out have no batch and stand last, so that ordinals of the others have no gaps.
    """
    included = [item for item in items if not item.problem]
    numbers = _pack(_group_by_txt(included), size)
    batched = [replace(item, batch=number) for item, number in zip(included, numbers, strict=True)]
    batched.sort(key=lambda item: item.batch)
    return (*batched, *(item for item in items if item.problem))


def changes_of(item: PlannedItem) -> dict[ClaimKey, EndpointDict | None]:
    """What becomes of the claims at each place that the item changes; None: they go."""
    before = {claim_key_of(endpoint): endpoint for endpoint in item.before}
    after = {claim_key_of(endpoint): endpoint for endpoint in item.after}
    changes: dict[ClaimKey, EndpointDict | None] = {
        key: endpoint for key, endpoint in after.items() if before.get(key) != endpoint
    }
    changes.update({key: None for key in before if key not in after})
    return changes


def find_stores_of_items(items: Iterable[PlannedItem]) -> set[str]:
    """The registry stores in which the claims of the items that are not left out stand, or are to stand."""
    included = [item for item in items if not item.problem]
    keys = (claim_key_of(endpoint) for item in included for endpoint in (*item.before, *item.after))
    return {key.store for key in keys if key.store != ZONE}


def _leave_out_entangled(items: Sequence[PlannedItem]) -> list[PlannedItem]:
    wanted: dict[ClaimKey, EndpointDict | None] = {}
    entangled: set[ClaimKey] = set()
    for item in items:
        for key, endpoint in changes_of(item).items():
            if key in wanted and wanted[key] != endpoint:
                entangled.add(key)
            wanted[key] = endpoint
    if not entangled:
        return list(items)
    return [_left_out_if_entangled(item, entangled) for item in items]


def _left_out_if_entangled(item: PlannedItem, entangled: set[ClaimKey]) -> PlannedItem:
    mine = entangled.intersection(changes_of(item))
    if not mine or item.problem:
        return item
    problem = (
        f"Two record sets share the TXT record {min(mine).name}, and each would need another one: "
        "re-format them first."
    )
    return replace(item, problem=problem, problem_code="entangled_claims")


def _build_speakers(neighbours: Iterable[Subject]) -> dict[ClaimKey, list[tuple[EndpointKey, bool]]]:
    """For each TXT record the record sets it speaks for, and whether it is the one that decides there."""
    speaks: dict[ClaimKey, list[tuple[EndpointKey, bool]]] = defaultdict(list)
    for subject in neighbours:
        if subject.record.is_missing:
            continue
        readable = subject.readable
        for place in dict.fromkeys(claim.place for claim in readable):
            speaks[place].append((subject.record.key, readable[0].place == place))
    return speaks


def _check_shared(
    item: PlannedItem,
    included: set[EndpointKey],
    speaks: Mapping[ClaimKey, Sequence[tuple[EndpointKey, bool]]],
) -> PlannedItem:
    for txt, endpoint in changes_of(item).items():
        for key, decides in speaks.get(txt, ()):
            if key in included or (endpoint is None and not decides):
                continue
            problem = (
                f"Its claim at {txt.name} also covers {key.name} {key.record_type}, which is not "
                "selected: select both, or re-format them first so that each has its own claim."
            )
            return replace(item, problem=problem, problem_code="shared_claim")
    return item


def _group_by_txt(items: Sequence[PlannedItem]) -> list[list[int]]:
    """Positions of the items, those connected by TXT records together, in the order of their first."""
    parent = list(range(len(items)))

    def find(position: int) -> int:
        while parent[position] != position:
            parent[position] = parent[parent[position]]
            position = parent[position]
        return position

    first_at: dict[ClaimKey, int] = {}
    for position, item in enumerate(items):
        for endpoint in (*item.before, *item.after):
            other = first_at.setdefault(claim_key_of(endpoint), position)
            low, high = sorted((find(other), find(position)))
            parent[high] = low
    groups: dict[int, list[int]] = defaultdict(list)
    for position in range(len(items)):
        groups[find(position)].append(position)
    return list(groups.values())


def _pack(groups: Sequence[Sequence[int]], size: int) -> list[int]:
    numbers: dict[int, int] = {}
    batch, filled = 0, 0
    for group in groups:
        if filled and filled + len(group) > size:
            batch, filled = batch + 1, 0
        numbers.update(dict.fromkeys(group, batch))
        filled += len(group)
    return [numbers[position] for position in sorted(numbers)]


def _key_of(item: PlannedItem) -> EndpointKey:
    return EndpointKey(item.name, item.record_type, item.set_identifier)
