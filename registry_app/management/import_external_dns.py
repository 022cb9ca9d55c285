"""A setup out of the flags of ExternalDNS instances, as `dnsadmin_apply` takes it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from providers.sources.external_dns_flags import FlagSet, parse_duration
from providers.stores.registry_catalogue import DEFAULT_REGISTRY, REGISTRIES

_DEFAULT_OWNER = "default"
_Item = dict[str, Any]


@dataclass
class ImportedSetup:
    """The lists of a setup, and what a person has to look at, a sentence each."""

    providers: dict[str, _Item] = field(default_factory=dict)
    registry_profiles: dict[str, _Item] = field(default_factory=dict)
    owners: dict[str, _Item] = field(default_factory=dict)
    instances: list[_Item] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    cluster: str = ""

    def build(self) -> dict[str, list[_Item]]:
        """As a document of `dnsadmin_apply`."""
        lists = {
            "clusters": [{"name": self.cluster}] if self.cluster else [],
            "providers": list(self.providers.values()),
            "registry_profiles": list(self.registry_profiles.values()),
            "owners": list(self.owners.values()),
            "instances": self.instances,
        }
        return {name: items for name, items in lists.items() if items}


def import_external_dns(found: Iterable[FlagSet], *, cluster: str, provider: str) -> ImportedSetup:
    """One owner and instance for each flag set, with the profiles and webhook providers that they name. All
    run in `cluster` and write through `provider` where these are given."""
    setup = ImportedSetup(cluster=cluster)
    for flags in found:
        _add(setup, flags, provider)
    return setup


def _add(setup: ImportedSetup, flags: FlagSet, provider: str) -> None:
    if "txt-owner-id" in flags.unknown:
        setup.remarks.append(f"{flags.name} is left out: its owner id is in a secret or ConfigMap.")
        return
    owner_id = flags.find("txt-owner-id", _DEFAULT_OWNER)
    taken = {each["name"] for each in setup.instances if each["owner"] == owner_id}
    name = flags.name
    while name in taken:
        name += "-2"
    setup.owners.setdefault(owner_id, {"owner_id": owner_id})
    if taken or owner_id == _DEFAULT_OWNER:
        setup.remarks.append(
            f"{name}: the owner id {owner_id!r} "
            + ("is shared by several instances." if taken else "is ExternalDNS's default: others may use it.")
        )
    instance: _Item = {"owner": owner_id, "name": name}
    if setup.cluster:
        instance["cluster"] = setup.cluster
    if at := provider or _add_provider(setup, flags, name):
        instance["provider"] = at
    # ExternalDNS's own default.
    instance["policy"] = flags.find("policy", "sync")
    if profile := _add_profile(setup, flags, name, instance.get("provider")):
        instance["registry_profile"] = profile
    for flag, setting in (
        ("domain-filter", "domain_include"),
        ("exclude-domains", "domain_exclude"),
        ("managed-record-types", "managed_types"),
    ):
        if values := flags.list(flag):
            instance[setting] = list(values)
    instance["claim_cache_seconds"] = _read_cache(setup, flags, name)
    _add_remarks(setup, flags, name)
    setup.instances.append(instance)


def _add_provider(setup: ImportedSetup, flags: FlagSet, name: str) -> str:
    """The name of the webhook provider that the flags name; empty where they name none that can be read."""
    chosen = flags.find("provider")
    if chosen not in ("webhook", ""):
        setup.remarks.append(
            f"{name}: it writes through the built-in provider {chosen}. Run a webhook server for the same "
            "zones, register it, and name it in `provider` of the instance."
        )
        return ""
    url = flags.find("webhook-provider-url")
    if not url or re.match(r"https?://(localhost|127\.|\[::1\])", url):
        setup.remarks.append(
            f"{name}: its webhook provider is in its own pod. Make it reachable from dnsadmin, register it, "
            "and name it in `provider` of the instance."
        )
        return ""
    if "@" in url or "?" in url:
        setup.remarks.append(
            f"{name}: the address of its webhook provider has a credential. Register it by hand."
        )
        return ""
    for known in setup.providers.values():
        if known["url"] == url:
            return str(known["name"])
    setup.providers[name] = {"name": name, "url": url}
    return name


def _add_profile(setup: ImportedSetup, flags: FlagSet, name: str, provider: object) -> str:
    """The name of a registry profile with these settings; empty for ExternalDNS's defaults."""
    registry = flags.find("registry", DEFAULT_REGISTRY)
    kind = REGISTRIES.get(registry)
    if kind is None:
        setup.remarks.append(f"{name}: the registry {registry!r} is not known here; register it by hand.")
        return ""
    given = {setting: flags.find(flag, default) for setting, (flag, default) in kind.flags.items()}
    settings: _Item = {"kind": kind.name, **{setting: value for setting, value in given.items() if value}}
    if "encryption_key" in kind.settings and flags.find("txt-encrypt-enabled") == "true":
        settings["encryption_key"] = f"env:DNSADMIN_CREDENTIAL_{_variable(name)}"
        setup.remarks.append(
            f"{name}: its claims are encrypted. Set the variable that is in `encryption_key`."
        )
    if kind.name == DEFAULT_REGISTRY and len(settings) == 1:
        return ""
    if kind.has_store and provider:
        settings["providers"] = [provider]
    for known, item in setup.registry_profiles.items():
        if {key: value for key, value in item.items() if key != "name"} == settings:
            return known
    setup.registry_profiles[name] = {"name": name, **settings}
    return name


def _read_cache(setup: ImportedSetup, flags: FlagSet, name: str) -> int | None:
    text = flags.find("txt-cache-interval", "0")
    seconds = parse_duration(text)
    if seconds is None:
        setup.remarks.append(f"{name}: {text!r} is no duration (--txt-cache-interval).")
    return seconds


def _add_remarks(setup: ImportedSetup, flags: FlagSet, name: str) -> None:
    for flag in _list_given(flags, ("regex-domain-filter", "regex-domain-exclusion")):
        setup.remarks.append(f"{name}: --{flag} is not stored; name the domains in domain_include.")
    for flag in _list_given(flags, ("migrate-from-txt-owner",)):
        setup.remarks.append(
            f"{name}: --{flag} takes over the records of another owner id, also those of other clusters. "
            "Remove it, and move them with a transfer or a hand-over."
        )
    setup.remarks += [f"{name}: the value of --{flag} is in a secret or ConfigMap." for flag in flags.unknown]


def _list_given(flags: FlagSet, names: Sequence[str]) -> list[str]:
    return [name for name in names if flags.find(name)]


def _variable(name: str) -> str:
    return re.sub("[^A-Z0-9]", "_", name.upper())
