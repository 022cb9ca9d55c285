"""What an instance needs to talk to its guard endpoint: flags of ExternalDNS, and values of its chart."""

from registry_app.models import GuardEndpoint

_PORT = 8888
# The chart wants an image for a container that it adds, and that is not needed here.
_PROVIDER = (
    "provider:",
    "  name: webhook",
    "  webhook:",
    "    image: {repository: unused, tag: unused}",
)
_DEFAULT_BODY: int = GuardEndpoint._meta.get_field("max_body_bytes").default


def build_url(row: GuardEndpoint, *, password: str = "") -> str:
    """The URL of a guard endpoint, with placeholders for what is not stored."""
    login = f"{row.username}:{password or '<password>'}@" if row.username else ""
    return f"http://{login}<host>:{_PORT}/{row.slug}"


def build_flags(row: GuardEndpoint, *, password: str = "") -> list[str]:
    """The flags, one each. Both timeouts together are the deadline, divided as their defaults are."""
    read = max(1, row.deadline_seconds // 3)
    flags = [
        "--provider=webhook",
        f"--webhook-provider-url={build_url(row, password=password)}",
        f"--webhook-provider-read-timeout={read}s",
        f"--webhook-provider-write-timeout={row.deadline_seconds - read}s",
    ]
    if row.max_body_bytes != _DEFAULT_BODY:  # older versions of ExternalDNS do not know the flag
        flags.append(f"--webhook-provider-max-body-size={row.max_body_bytes}")
    return [*flags, "--dry-run"] if row.mode == GuardEndpoint.Mode.DRY_RUN else flags


def build_values(row: GuardEndpoint, *, password: str = "") -> str:
    """The same as values of ExternalDNS's Helm chart, which writes `--provider` itself."""
    lines = [f"  - {flag}" for flag in build_flags(row, password=password)[1:]]
    return "\n".join([*_PROVIDER, "extraArgs:", *lines])
