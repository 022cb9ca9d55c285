"""A TXT target on the wire and the bytes it stands for, both ways. Pure.

On the wire it is the text between double quotes, with `"` and `\\` escaped by a backslash and what is not
printable as `\\DDD`. Several strings in quotes are read as one.
"""

import re

_QUOTED_STRING = re.compile(r'"((?:[^"\\]|\\[0-9]{3}|\\[^0-9])*)"')
_ESCAPE = re.compile(r"\\([0-9]{3}|.)", re.DOTALL)


def parse_txt_target(target: str) -> bytes:
    """The bytes a TXT target stands for. A target without quotes is taken as it is, backslashes included."""
    text = target.strip()
    if len(text) < 2 or not text.startswith('"'):
        return target.encode("utf-8")
    content: list[bytes] = []
    position = 0
    while position < len(text):
        found = _QUOTED_STRING.match(text, position)
        if found is None:
            raise ValueError('its double quotes do not pair up; write an inner one as \\"')
        content.append(_unescape(found.group(1)))
        position = found.end()
        while position < len(text) and text[position] == " ":
            position += 1
    return b"".join(content)


def format_txt_target(content: bytes) -> str:
    """A TXT content as its target on the wire, in double quotes."""
    pieces = [_escape_character(each) for each in content.decode("utf-8", "surrogateescape")]
    return f'"{"".join(pieces)}"'


def _unescape(text: str) -> bytes:
    def replace(found: re.Match[str]) -> str:
        escaped = found.group(1)
        if len(escaped) == 1:
            return escaped
        if int(escaped) > 255:
            raise ValueError(f"\\{escaped} is not a byte")
        # A byte above 127 is carried as the lone surrogate that `surrogateescape` turns back into it.
        return chr(int(escaped)) if int(escaped) < 128 else chr(0xDC00 + int(escaped))

    return _ESCAPE.sub(replace, text).encode("utf-8", "surrogateescape")


def _escape_character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\{code - 0xDC00:03d}"
    if code < 32 or 127 <= code < 160:
        return "".join(f"\\{byte:03d}" for byte in character.encode("utf-8"))
    return character
