"""How exactly a provider takes what it is told: old values, what exists, one bad change among good ones."""

from collections.abc import Iterator, Sequence

import msgspec

from providers.conformance.observation import Observation, Verdict
from providers.conformance.subject import Said
from providers.conformance.workplace import Workplace
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint

_AREA = "exactness"
_FIRST, _SECOND, _THIRD = ("192.0.2.1",), ("192.0.2.2",), ("192.0.2.3",)


def check_exactness(place: Workplace) -> Iterator[Observation]:
    """Updates and deletes with right and wrong old values, a create over what exists, a mixed batch."""
    held = _put(place, "exact", _FIRST)
    if held is None:
        yield Observation(_AREA, "Changes are exact", Verdict.SKIPPED, "An A record could not be created.")
        return
    yield _check_update(place, held)
    yield _check_stale_update(place)
    yield _check_stale_delete(place)
    yield _check_create_over(place)
    yield _check_delete(place)
    yield _check_mixed_batch(place)
    yield _check_broken_body(place)


def _check_update(place: Workplace, held: Endpoint) -> Observation:
    title = "An update with the old value as it was read is applied"
    said = _update(place, held, _SECOND)
    shown = _targets_at(place, held.dns_name, _SECOND, seconds=place.time_for(said))
    if shown == _SECOND:
        return Observation(_AREA, title, Verdict.PASSED)
    return Observation(
        _AREA, title, Verdict.FAILED, f"It responded with {said.status}, and shows {_told(shown)} afterwards."
    )


def _check_stale_update(place: Workplace) -> Observation:
    title = "An update whose old value does not match"
    held = _put(place, "stale", _FIRST)
    if held is None:
        return Observation(_AREA, title, Verdict.SKIPPED)
    stale = msgspec.structs.replace(held, targets=_THIRD)
    said = _update(place, stale, _SECOND)
    shown = _targets_at(place, held.dns_name, _SECOND, seconds=place.doubt)
    if shown == _FIRST:
        detail = f"It is not applied; the status is {said.status}."
        advice = "How it writes: matches the old value exactly." if said.is_success else ""
        return Observation(_AREA, title, Verdict.PASSED, detail, advice)
    detail = f"It is applied: {said.status}. Two writers may overwrite each other without notice."
    return Observation(_AREA, title, Verdict.NOTED, detail, "Read the records just before each change.")


def _check_stale_delete(place: Workplace) -> Observation:
    title = "A delete whose value does not match"
    held = _put(place, "stale-delete", _FIRST)
    if held is None:
        return Observation(_AREA, title, Verdict.SKIPPED)
    said = place.subject.apply(ChangeSet(delete=(msgspec.structs.replace(held, targets=_THIRD),)))
    shown = _targets_at(place, held.dns_name, (), seconds=place.doubt)
    if shown == _FIRST:
        return Observation(_AREA, title, Verdict.PASSED, f"It is not applied; the status is {said.status}.")
    return Observation(_AREA, title, Verdict.NOTED, f"It is applied: {said.status}.")


def _check_create_over(place: Workplace) -> Observation:
    title = "A create of an existing record set does not replace it"
    held = _put(place, "over", _FIRST)
    if held is None:
        return Observation(_AREA, title, Verdict.SKIPPED)
    said = place.create(msgspec.structs.replace(held, targets=_SECOND))
    shown = _targets_at(place, held.dns_name, _SECOND, seconds=place.doubt)
    if shown == _FIRST:
        return Observation(_AREA, title, Verdict.PASSED, f"The status is {said.status}.")
    what = "a create overwrites the record sets of others"
    if set(shown) == {*_FIRST, *_SECOND}:
        what = "it merges targets, so a create adds to the record sets of others"
    return Observation(
        _AREA, title, Verdict.FAILED, f"It responded with {said.status} and shows {_told(shown)}: {what}."
    )


def _check_delete(place: Workplace) -> Observation:
    title = "A delete with the value as it was read is applied"
    held = _put(place, "gone", _FIRST)
    if held is None:
        return Observation(_AREA, title, Verdict.SKIPPED)
    said = place.subject.apply(ChangeSet(delete=(held,)))
    left = place.wait_for(held.dns_name, lambda shown: not shown, seconds=place.time_for(said))
    if not left:
        return Observation(_AREA, title, Verdict.PASSED)
    return Observation(_AREA, title, Verdict.FAILED, f"It responded with {said.status}, and still shows it.")


def _check_mixed_batch(place: Workplace) -> Observation:
    """A good create, then a change of what is not there."""
    title = "One bad change in a change set"
    good = _make(place, "good", _FIRST)
    missing = _make(place, "missing", _FIRST)
    said = place.subject.apply(
        ChangeSet(
            create=(good,),
            update_old=(missing,),
            update_new=(msgspec.structs.replace(missing, targets=_SECOND),),
        )
    )
    is_good_there = (
        bool(place.wait_for(good.dns_name, bool)) if said.is_success else bool(place.fetch_at(good.dns_name))
    )
    is_missing_there = bool(place.fetch_at(missing.dns_name))
    if is_missing_there:
        detail = f"It responded with {said.status} and created the record set that it should update."
        return Observation(_AREA, title, Verdict.NOTED, detail, "An update is an upsert here.")
    if is_good_there:
        advice = "How it writes: one after the other." if not said.is_success else ""
        detail = f"The good one is applied, the bad one is left out; the status is {said.status}."
        return Observation(_AREA, title, Verdict.NOTED, detail, advice)
    detail = f"Nothing is applied; the status is {said.status}."
    return Observation(_AREA, title, Verdict.PASSED, detail, "How it writes: all or nothing.")


def _check_broken_body(place: Workplace) -> Observation:
    title = "A change set that is not JSON is refused with 400"
    headers = {"Content-Type": place.subject.media_type}
    said = place.subject.call("POST", "records", body=b'{"create":[', headers=headers)
    if said.status in {400, 422}:
        return Observation(_AREA, title, Verdict.PASSED, f"{said.status}.")
    verdict = Verdict.FAILED if said.is_success else Verdict.NOTED
    return Observation(_AREA, title, verdict, f"It responded with {said.status}.")


def _make(place: Workplace, case: str, targets: tuple[str, ...]) -> Endpoint:
    return Endpoint(dns_name=place.name(case), targets=targets, record_type="A", record_ttl=300)


def _put(place: Workplace, case: str, targets: tuple[str, ...]) -> Endpoint | None:
    """Create an endpoint and give back how the provider shows it."""
    wanted = _make(place, case, targets)
    said = place.create(wanted)
    found = place.wait_for(wanted.dns_name, bool, seconds=place.time_for(said))
    return found[0] if found else None


def _update(place: Workplace, old: Endpoint, targets: tuple[str, ...]) -> Said:
    new = msgspec.structs.replace(old, targets=targets)
    return place.subject.apply(ChangeSet(update_old=(old,), update_new=(new,)))


def _targets_at(
    place: Workplace, name: str, awaited: tuple[str, ...], *, seconds: float | None = None
) -> tuple[str, ...]:
    return _targets(place.wait_for(name, lambda shown: _targets(shown) == awaited, seconds=seconds))


def _targets(shown: Sequence[Endpoint]) -> tuple[str, ...]:
    return tuple(sorted(target for each in shown for target in each.targets))


def _told(targets: tuple[str, ...]) -> str:
    return ", ".join(targets) or "nothing"
