"""What the other side said, made safe to show: printable, short, and without our own secrets in it."""

from collections.abc import Iterable

LONGEST_EXCERPT = 200


def safe_excerpt(text: str, secrets: Iterable[str] = ()) -> str:
    """Return at most 200 printable characters of `text`, with every one of `secrets` blotted out.

    Secrets go first: a provider may well echo the credentials it did not like.
    """
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[secret]")
    # The slice bounds the work, twice the length leaves room for runs of white space that collapse.
    shown = "".join(c if c.isprintable() else " " for c in text[: 2 * LONGEST_EXCERPT])
    return " ".join(shown.split())[:LONGEST_EXCERPT]


def bare_url(url: str) -> str:
    """Return a URL somebody else wrote without its user-info, query and fragment."""
    place = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = place.partition("//")
    if not separator:
        return place
    authority, slash, path = rest.partition("/")
    return f"{scheme}//{authority.rpartition('@')[2]}{slash}{path}"
