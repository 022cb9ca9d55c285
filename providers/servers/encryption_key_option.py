"""The option that every backend has: keys that open encrypted claims, to compare them by what they say."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from providers.registries.encryption import parse_encryption_key
from providers.registries.errors import InvalidEncryptionKey

# As ExternalDNS itself names its flag --txt-encrypt-aes-key in the environment.
KEY_VARIABLE = "EXTERNAL_DNS_TXT_ENCRYPT_AES_KEY"


def add_encryption_key_argument(parser: argparse.ArgumentParser) -> None:
    """`--txt-encrypt-aes-key-file`, repeatable."""
    parser.add_argument(
        "--txt-encrypt-aes-key-file",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="the key of ExternalDNS's --txt-encrypt-aes-key, to compare encrypted claims by what they say; "
        f"repeatable (also {KEY_VARIABLE})",
    )


def fetch_encryption_keys(options: argparse.Namespace, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The keys of the files and of the environment. Raises ValueError, without the key, for one that is none,
    and OSError for a file that cannot be read."""
    keys: list[bytes] = []
    for path in options.txt_encrypt_aes_key_file:
        # A key may end in a blank, but no editor leaves a file without its last line break.
        text = path.read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        keys.append(_parse(text, path.name))
    if environment.get(KEY_VARIABLE):
        keys.append(_parse(environment[KEY_VARIABLE], KEY_VARIABLE))
    return tuple(dict.fromkeys(keys))


def _parse(text: str, place: str) -> bytes:
    try:
        return parse_encryption_key(text)
    except InvalidEncryptionKey as error:
        raise ValueError(f"{place}: {error}") from None
