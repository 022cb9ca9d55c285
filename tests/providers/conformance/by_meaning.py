"""A provider that takes updates and deletes as ExternalDNS sends them, and compares records exactly."""

import msgspec

from providers.backends.memory import MemoryBackend
from providers.wire.change_set import ChangeSet
from providers.wire.endpoint import Endpoint
from tests.reference_server import ReferenceProvider

_HERITAGE = "heritage="
_FORCE_UPDATE = "txt/force-update"


class ByMeaning(MemoryBackend):
    """Takes the claim it holds for the one that is called old, without what stands beside it."""

    def apply(self, change_set: ChangeSet) -> None:
        held = {(each.dns_name, each.record_type): each for each in self.contents()}
        creates, updates, deletes = list(change_set.create), [], []
        for sent, new in zip(change_set.update_old, change_set.update_new, strict=True):
            standing = held.get((sent.dns_name, sent.record_type))
            if standing is None and any(each.name == _FORCE_UPDATE for each in sent.provider_specific):
                creates.append(new)
            else:
                updates.append((_find_old(sent, standing), new))
        for sent in change_set.delete:
            old = _find_old(sent, held.get((sent.dns_name, sent.record_type)))
            rest = tuple(each for each in old.targets if each not in sent.targets and _HERITAGE not in each)
            if old.record_type == "TXT" and rest:
                updates.append((old, msgspec.structs.replace(old, targets=rest)))
            else:
                deletes.append(old)
        super().apply(
            ChangeSet(
                create=tuple(creates),
                update_old=tuple(old for old, _ in updates),
                update_new=tuple(new for _, new in updates),
                delete=tuple(deletes),
            )
        )


class ByMeaningProvider(ReferenceProvider):
    backend_type = ByMeaning


def _find_old(sent: Endpoint, standing: Endpoint | None) -> Endpoint:
    if standing is not None and sent.record_type == "TXT":
        return standing
    kept = tuple(each for each in sent.provider_specific if each.name != _FORCE_UPDATE)
    return msgspec.structs.replace(sent, provider_specific=kept)
