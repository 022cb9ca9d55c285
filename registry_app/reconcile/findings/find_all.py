"""Every kind of finding over one scene, each kind bounded."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from registry_app.reconcile.findings import answers, claims, copies, instances, owners, records, transfers
from registry_app.reconcile.findings.draft import FindingDraft
from registry_app.reconcile.findings.scene import Scene

# Ten thousand of a kind at one provider are one problem, not ten thousand: the first ones tell of it, and
# the last of them says how many more there are.
MOST_OF_A_KIND = 10_000

# A scene may have a part of the snapshot: all that is at some names. What a finder says about a name must
# follow from what is at that name and at those linked with it; a finding's `name` is that name. All its
# findings are of one kind. A finding about the whole snapshot uses `scene.facts`, and its kind is in
# `store_findings.KINDS_ABOUT_THE_WHOLE`.
Finder = Callable[[Scene], Iterator[FindingDraft]]

_ABOUT_THE_WHOLE: tuple[Finder, ...] = (
    answers.find_set_aside,
    answers.find_wrong_content_type,
    answers.find_filter_matches_all,
    owners.find_unregistered_owners,
    instances.find_instances_at_odds,
    instances.find_values_to_and_fro,
)
_ABOUT_NAMES: tuple[Finder, ...] = (
    claims.find_conflicts,
    claims.find_orphan_claims,
    claims.find_unreadable_claims,
    claims.find_legacy_claims,
    claims.find_claims_encrypted_otherwise,
    claims.find_superseded_claims,
    claims.find_obsolete_claims,
    claims.find_ignored_claims,
    claims.find_owners_in_labels,
    copies.find_differing_copies,
    owners.find_unmanaged_in_patterns,
    owners.find_split_owners,
    records.find_long_txt_names,
    records.find_cnames_beside_others,
    records.find_flapping,
    records.find_second_readings,
    records.find_differing_parts,
    transfers.find_deleted_after_transfers,
    transfers.find_changed_back,
)


def find_all(scene: Scene) -> Iterator[FindingDraft]:
    """All findings of a scene, in a fixed order. Pure."""
    for finder in (*_ABOUT_THE_WHOLE, *_ABOUT_NAMES):
        yield from _bound(finder(scene))


class FindingsOfSlices:
    """The findings of a snapshot that is seen slice by slice, each of which has some names whole: the same
    that `find_all` finds in all of it at once."""

    def __init__(self) -> None:
        self._drafts: list[list[FindingDraft]] = [[] for _ in _ABOUT_NAMES]
        self._dropped = [0] * len(_ABOUT_NAMES)

    def add(self, scene: Scene) -> None:
        """What is found in a slice."""
        for number, finder in enumerate(_ABOUT_NAMES):
            drafts = self._drafts[number]
            drafts += finder(scene)
            if len(drafts) > 2 * MOST_OF_A_KIND:
                drafts.sort(key=_order_of)
                self._dropped[number] += len(drafts) - MOST_OF_A_KIND
                del drafts[MOST_OF_A_KIND:]

    def list_all(self, scene: Scene) -> Iterator[FindingDraft]:
        """All, when all slices were seen. Of the snapshot, `scene` needs no record sets and no claims."""
        for finder in _ABOUT_THE_WHOLE:
            yield from _bound(finder(scene))
        for drafts, dropped in zip(self._drafts, self._dropped, strict=True):
            drafts.sort(key=_order_of)
            yield from _bound(iter(drafts), dropped)


def _order_of(draft: FindingDraft) -> tuple[str, str, str]:
    # Each finder about names goes by this order in a snapshot.
    return draft.name, draft.record_type, draft.set_identifier


def count_by_kind(scene: Scene) -> Counter[str]:
    """How many findings of each kind a scene has, counted up to MOST_OF_A_KIND. Pure."""
    return Counter(draft.kind.value for draft in find_all(scene))


def _bound(drafts: Iterator[FindingDraft], dropped: int = 0) -> Iterator[FindingDraft]:
    yield from islice(drafts, MOST_OF_A_KIND - 1)
    last = next(drafts, None)
    if last is None:
        return
    more = dropped + sum(1 for _ in drafts)
    if more:
        explanation = f"{last.explanation} And {more} more of this kind, which are not listed one by one."
        last = replace(last, explanation=explanation, details={**last.details, "more": more})
    yield last
