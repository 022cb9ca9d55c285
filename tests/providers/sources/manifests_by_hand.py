"""Manifests for tests, as text: a good one, and the same with one thing changed."""

GOOD = """\
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata:
  name: www
  namespace: web
spec:
  endpoints:
    - dnsName: www.example.org
      recordType: A
      recordTTL: 300
      targets: [192.0.2.1, 192.0.2.2]
      setIdentifier: eu
      labels: {team: blue}
      providerSpecific:
        - {name: aws/weight, value: "10"}
"""

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: www, namespace: web}
"""


def changed(old: str, new: str) -> bytes:
    """The good manifest with `old`, which stands in it once, replaced."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new).encode()


def make_manifest(name: str, *endpoints: str, namespace: str = "web") -> str:
    """A DNSEndpoint of this name; each endpoint is a flow mapping without its braces."""
    items = "".join(f"\n    - {{{each}}}" for each in endpoints) or " []"
    return (
        "apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  endpoints:{items}\n"
    )


def address(name: str, target: str = "192.0.2.1") -> str:
    """An address record for `make_manifest`."""
    return f"dnsName: {name}, recordType: A, targets: [{target}]"
