"""What solves a contention, in words and as a request. Pure."""

from collections.abc import Mapping, Sequence

from registry_app.models import Contention, GuardEndpoint, Transfer
from registry_app.reconcile.contention.units import Found, Unit, is_without_owner

Kind = Contention.Kind
Suggestion = Mapping[str, object]
NOTHING: Suggestion = {}
_SILENT = (GuardEndpoint.Mode.DRY_RUN, GuardEndpoint.Mode.PAUSED)
_MOST_NAMED = 5


def advise(unit: Unit, found: Found) -> str:
    """What solves it. Names owners and guard endpoints."""
    sentences = [_ADVICE[found.kind](unit, found)]
    stale = sorted({wish.wisher.slug for wish in unit.wishes if wish.wisher.is_stale})
    if stale:
        sentences.append(f"What is known of {_list(stale)} is stale: it may not want this any more.")
    return " ".join(sentences)


def suggest(provider_id: int, unit: Unit, found: Found) -> Suggestion:
    """The request that would solve it, as a finding has it; empty where a person has to choose first."""
    if found.kind == Kind.OWNED_BY_OTHER:
        kind = Transfer.Kind.TRANSFER
        rows = [each for each in unit.held if each.record_type in found.record_types and each.owner_id]
        wanting = sorted(set(unit.wanting_owners) - {each.owner_id for each in rows})
    elif found.kind == Kind.NOT_OWNED:
        kind = Transfer.Kind.ADOPT
        rows = [each for each in unit.held if each.record_type in found.record_types]
        wanting = unit.wanting_owners if all(map(is_without_owner, rows)) else []
    else:
        return NOTHING
    if len(wanting) != 1:
        return NOTHING
    selection = {"provider_id": provider_id, "record_set_ids": sorted(each.pk for each in rows)}
    return {"kind": kind.value, "target_owner_id": wanting[0], "selection": selection}


def _on_several_owners(unit: Unit, found: Found) -> str:
    owners = _list(unit.wanting_owners)
    holding = sorted({each.owner_id for each in unit.held if each.owner_id})
    if not holding:
        return (
            f"{owners} want it, and the first one to create it owns it. Remove it from all sources but one."
        )
    return (
        f"{owners} want it, and {_list(holding)} owns it. Remove it from the sources of the others. Or "
        "transfer it to one of them, and remove it from the sources of the present owner."
    )


def _on_several_instances(unit: Unit, found: Found) -> str:
    slugs = _list(sorted(wishes[0].wisher.slug for wishes in unit.wishers.values()))
    values = {
        tuple(sorted((wish.record_type, *sorted(set(wish.targets))) for wish in wishes))
        for wishes in unit.wishers.values()
    }
    if len(values) > 1:
        said = (
            "want it under one owner id, and not the same: each overwrites or deletes what the other wants."
        )
    else:
        said = "want the same under one owner id. The first one that stops wanting it deletes it."
    return f"The instances at {slugs} {said} Remove it from all sources but one."


def _on_owned_by_other(unit: Unit, found: Found) -> str:
    holding = sorted({each.owner_id for each in unit.held if each.owner_id})
    wanting = sorted(set(unit.wanting_owners) - set(holding)) or unit.wanting_owners
    still = sorted(set(holding) & set(unit.wanting_owners))
    begin = f"{_list(wanting)} wants it, and {_list(holding)} owns it."
    if still:
        return f"{begin} {_list(still)} still wants it: remove it from one of the sources, then transfer it."
    return f"{begin} Transfer it to {_list(wanting)}, or remove it from the sources of {_list(wanting)}."


def _on_not_owned(unit: Unit, found: Found) -> str:
    rows = [each for each in unit.held if each.record_type in found.record_types]
    wanting = _list(unit.wanting_owners)
    if all(map(is_without_owner, rows)):
        return (
            f"{wanting} wants it. It is there without an ownership record (claim), so ExternalDNS leaves it "
            f"alone. Adopt it for {wanting}, or remove it from the sources."
        )
    return (
        f"{wanting} wants it, and its owner is not known. The findings about the record set say what to do."
    )


def _on_unwanted(unit: Unit, found: Found) -> str:
    owners = _list(sorted({each.owner_id for each in unit.held if each.record_type in found.record_types}))
    return (
        f"No instance wants it any more. With --policy=sync the next sync of {owners} deletes it, unless the "
        "delete is held or refused. If it stays and is needed, transfer it to the owner that needs it."
    )


def _on_absent(unit: Unit, found: Found) -> str:
    silent = {w.wisher.slug: w.wisher.mode for w in unit.wishes if w.wisher.mode in _SILENT}
    slugs = sorted({wish.wisher.slug for wish in unit.wishes})
    if silent.keys() == set(slugs):
        slug, mode = min(silent.items())
        return f"The guard endpoint {slug} is in the mode {mode}, which sends nothing. Change its mode."
    if any(each.owner_id not in unit.wanting_owners for each in unit.held):
        return "Another record set at this name is in the way. Solve that first."
    return (
        f"Wait for the next sync of {_list(slugs)}, which creates it. If it stays away, see the decisions of "
        "the guard endpoint, and the log of the instance."
    )


_ADVICE = {
    Kind.SEVERAL_OWNERS: _on_several_owners,
    Kind.SEVERAL_INSTANCES: _on_several_instances,
    Kind.OWNED_BY_OTHER: _on_owned_by_other,
    Kind.NOT_OWNED: _on_not_owned,
    Kind.UNWANTED: _on_unwanted,
    Kind.ABSENT: _on_absent,
}


def _list(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - _MOST_NAMED} more"
    return " and ".join((", ".join(shown[:-1]), shown[-1])) if len(shown) > 1 else "".join(shown)
