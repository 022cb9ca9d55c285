"""ExternalDNS's loop, written down anew in Python and held against recordings of the real program.

    with ReferenceProvider(zone) as provider:
        blue = start_instance(provider.url, "blue-cluster", [make_record()])
        result = blue.run_once()

One `Instance` is one process of ExternalDNS v0.22 with the TXT registry and the webhook provider: it
negotiates at its start, reads, plans and sends over real HTTP, lives on after a 5xx and is dead after any
other error. It sends what ExternalDNS sends: `test_recorded_traffic.py` proves it. The only rules it shares
with the product are how a body is decoded, names and domain filters are matched, and labels are parsed and
compressed.

Not modelled: the sources (a test sets the endpoints, and `deduplicate` is what they do to them last), the
other registries, --migrate-from-txt-owner, the waits between tries, and half of a surrogate pair, which Go
replaces and which is fatal here. A change set is in the order of what was read and then of what is desired;
ExternalDNS's order is random, but for claims, which follow their record sets.
"""
