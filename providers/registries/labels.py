"""The heritage text of a claim: `heritage=external-dns,external-dns/owner=...`, read and written.

Nothing in the text is escaped. Reading is therefore lenient, exactly as ExternalDNS reads, and writing
refuses whatever a reader, old or new, would read as something else.
"""

from collections.abc import Mapping

from providers.registries.errors import ForeignText, UnwritableLabel

HERITAGE = "external-dns"
OWNER = "owner"
RESOURCE = "resource"
# ExternalDNS carries the nonce of an encrypted claim among the labels, in memory only.
ENCRYPTION_NONCE = "txt-encryption-nonce"

_HERITAGE_TOKEN = f"heritage={HERITAGE}"
_KEY_PREFIX = f"{HERITAGE}/"
_OWNER_KEY = f"{_KEY_PREFIX}{OWNER}"
# Nearly all tokens have one of these keys: looked up, not cut, and the texts are shared by all claims.
_USUAL_KEYS = {_OWNER_KEY: OWNER, f"{_KEY_PREFIX}{RESOURCE}": RESOURCE}


def parse_labels(text: str) -> dict[str, str] | None:
    """The labels of a heritage text, without their `external-dns/`; None if the text is foreign.

    Quotes around the text are optional. Of a repeated key the last value counts, as in ExternalDNS.
    """
    if "heritage=" not in text:
        return None
    labels: dict[str, str] = {}
    is_ours = False
    for token in text.strip('"').split(","):
        if token == _HERITAGE_TOKEN:
            is_ours = True
            continue
        key, equals, value = token.partition("=")
        if not equals:
            continue
        if key in _USUAL_KEYS:
            labels[_USUAL_KEYS[key]] = value
        elif key == "heritage":
            return None
        elif key.startswith(HERITAGE):
            labels[key.removeprefix(_KEY_PREFIX)] = value
    return labels if is_ours else None


def format_labels(labels: Mapping[str, str], *, quoted: bool = True) -> str:
    """What ExternalDNS writes for these labels, byte for byte. The encryption nonce is left out.

    Raises UnwritableLabel where a reader would not find the same labels again.
    """
    tokens = [_HERITAGE_TOKEN]
    for key in sorted(labels):
        if key == ENCRYPTION_NONCE:
            continue
        if not key:
            raise UnwritableLabel("A label without a key cannot be written into a claim.")
        _raise_if_unwritable(f"key of the label {key!r}", key)
        _raise_if_unwritable(f"value of the label {key!r}", labels[key])
        tokens.append(f"{_KEY_PREFIX}{key}={labels[key]}")
    text = ",".join(tokens)
    return f'"{text}"' if quoted else text


def format_writable(labels: Mapping[str, str]) -> str:
    """The text, without quotes, of those labels that it can hold."""
    return format_labels({key: text for key, text in labels.items() if is_writable(key, text)}, quoted=False)


def is_writable(key: str, value: object) -> bool:
    """Whether a heritage text can hold this label, so that it is read again."""
    if not isinstance(value, str):
        return False
    try:
        return parse_labels(format_labels({key: value}, quoted=False)) == {key: value}
    except UnwritableLabel:
        return False


def rebuild_text(text: str) -> str | None:
    """The text, without quotes, that ExternalDNS writes after it read this one; None where it cannot.

    Labels come sorted and once each; what is no label of a claim goes.
    """
    labels = parse_labels(text)
    if labels is None:
        return None
    try:
        return format_labels(labels, quoted=False)
    except UnwritableLabel:
        return None


def labels_beside_owner(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels of an endpoint that its claim carries beside the owner."""
    return {key: value for key, value in labels.items() if key not in (OWNER, ENCRYPTION_NONCE)}


def raise_if_owner_unwritable(owner_id: str) -> None:
    """Raises UnwritableLabel if a claim cannot name this owner."""
    if not owner_id:
        raise UnwritableLabel("A claim cannot name an empty owner id.")
    _raise_if_unwritable(f"owner id {owner_id!r}", owner_id)


def replace_owner(raw: str, new_owner_id: str) -> str:
    """The same text with another owner: quotes, unknown tokens and their order stay byte for byte.

    Every owner token is replaced, so that readers who disagree on which one counts agree on the owner.
    Without one, the owner is put where ExternalDNS's sorting would have it. Works on plain text.
    Raises ForeignText without heritage, UnwritableLabel for an owner id a claim cannot hold.
    """
    raise_if_owner_unwritable(new_owner_id)
    if parse_labels(raw) is None:
        raise ForeignText("This TXT value has no ExternalDNS heritage. It was left as it is.")
    body = raw.strip('"')
    start = len(raw) - len(raw.lstrip('"'))
    tokens = body.split(",")
    new_token = f"{_OWNER_KEY}={new_owner_id}"
    owners = [i for i, token in enumerate(tokens) if token.startswith(f"{_OWNER_KEY}=")]
    for index in owners:
        tokens[index] = new_token
    if not owners:
        tokens.insert(_owner_position(tokens), new_token)
    return raw[:start] + ",".join(tokens) + raw[start + len(body) :]


def is_strict_heritage(text: str) -> bool:
    """Whether the text is its own canonical form: heritage first, sorted keys, each once, nothing else."""
    labels = parse_labels(text)
    if labels is None:
        return False
    try:
        return format_labels(labels, quoted=text.startswith('"')) == text
    except UnwritableLabel:
        return False


def describe_unreadable_owner(labels: Mapping[str, str]) -> str:
    """Why these labels name no usable owner, in one sentence; empty if they do name one."""
    owner_id = labels.get(OWNER, "")
    if not owner_id:
        return "The claim names no owner."
    # An `=` is fine here: ExternalDNS 0.22 reads it, only older ones do not.
    if '"' in owner_id or not owner_id.isprintable():
        return "The owner id in the claim holds a quote or a character that cannot be printed."
    return ""


def parse_stored_labels(text: str, where: str) -> dict[str, str]:
    """The labels of a heritage text that is to be stored as labels alone, the owner among them.

    `where`: what is to hold them. Raises ForeignText, and UnwritableLabel for a text that would not be read
    back the same.
    """
    labels = parse_labels(text)
    if labels is None:
        raise ForeignText(f"The text carries no ExternalDNS heritage, so it cannot be stored in {where}.")
    problem = describe_unreadable_owner(labels)
    if problem:
        raise UnwritableLabel(problem)
    if format_labels(labels, quoted=False) != text:
        raise UnwritableLabel(
            f"The text holds more than labels, or in another order: {where} has labels only."
        )
    return labels


def _owner_position(tokens: list[str]) -> int:
    """Where the owner token belongs: before the first greater key, never before the heritage."""
    heritage = tokens.index(_HERITAGE_TOKEN)
    for index in range(heritage + 1, len(tokens)):
        key, equals, _ = tokens[index].partition("=")
        if equals and key.startswith(_KEY_PREFIX) and key > _OWNER_KEY:
            return index
    return len(tokens)


def _raise_if_unwritable(what: str, text: str) -> None:
    for character in text:
        # `=` too: ExternalDNS before 0.22 drops a token that holds two.
        if character in ',"=' or not character.isprintable():
            raise UnwritableLabel(
                f"The {what} holds {character!r}, which a claim cannot represent; nothing was written."
            )
