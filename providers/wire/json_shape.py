"""Where the items of a JSON body begin and end, found without parsing what is inside them.

The JSON parsers at hand give up on a whole body for one bad value in it, and end in a RecursionError on
deep nesting. This walk finds the items by brackets and quotes alone, so that one broken item can be set
aside, and counts depth and items before anything is built from them.
"""

import re
from collections.abc import Iterator

import msgspec

from providers.wire.errors import BodyTooDeep, NotAnArray, TooManyItems, UndecodableBody

MAX_DEPTH = 8
WHITE_SPACE = b" \t\r\n"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Every repetition is possessive and a string that never ends matches up to the end of the body: without
# both, a hostile body could make the matching quadratic.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_FLAT = rb'(?:[^"\[\]{}]++|' + _STRING + rb")*+"
_SKIPPED = rb'(?:[^"\[\]{},]++|' + _STRING + rb")*+"
# The next bracket or comma outside strings, or a whole container that holds no other container.
_NEXT_MARK = re.compile(_SKIPPED + rb"(\[" + _FLAT + rb"\]|\{" + _FLAT + rb"\}|[\[\]{},])", re.DOTALL).match
_CLOSING = {ord("["): ord("]"), ord("{"): ord("}")}
_COMMA = ord(",")
_RAW_ITEMS_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
# Every item but one takes a comma, and the raw items of a hostile body take more memory than the body:
# beyond this the body is walked, which counts before it builds.
_COMMAS_PER_ITEM = 4


def strip_frame(body: bytes) -> bytes:
    """The body without white space around it. Refuses a byte order mark and an empty body."""
    if body.startswith(_BYTE_ORDER_MARK):
        raise UndecodableBody("the body begins with a byte order mark, which JSON does not allow")
    text = body.strip(WHITE_SPACE)
    if not text:
        raise UndecodableBody("the body is empty where JSON was expected")
    return text


def split_array(text: bytes, max_items: int) -> Iterator[bytes]:
    """The items of the array that `text` is, as `walk_array` finds them; quick where all of it is JSON."""
    try:
        small = text.count(b",") <= _COMMAS_PER_ITEM * max_items
        raws = _RAW_ITEMS_DECODER.decode(text) if small else None
    except (msgspec.MsgspecError, RecursionError):
        raws = None  # the walk tells a broken item from a broken body
    if raws is None:
        yield from walk_array(text, max_items)
        return
    raise_if_too_many(len(raws), max_items)
    for raw in raws:
        item = bytes(raw)
        # Fewer brackets than levels cannot be too deep, whatever is in strings.
        if item.count(b"[") + item.count(b"{") >= MAX_DEPTH:
            _raise_if_item_too_deep(item)
        yield item


def walk_array(text: bytes, max_items: int) -> Iterator[bytes]:
    """Yield each item of the array that `text` is, as the raw bytes between two commas.

    Raises NotAnArray, BodyTooDeep, TooManyItems, and UndecodableBody when the brackets do not match,
    the array does not close, or something follows it.
    """
    if not text.startswith(b"["):
        raise NotAnArray("an array was expected, the body is something else")
    begin = 1
    items = 0
    for position, mark, depth in _walk_marks(text):
        if depth > 1 or (depth == 1 and mark != _COMMA):
            continue
        item = text[begin:position].strip(WHITE_SPACE)
        if depth == 0 and items == 0 and not item:
            continue  # an empty array; the walk still has to see that nothing follows it
        if not item:
            raise UndecodableBody("nothing is between two commas", path=f"$[{items}]")
        items += 1
        raise_if_too_many(items, max_items)
        yield item
        begin = position + 1


def raise_if_malformed(text: bytes, *, item_depth: int, max_items: int) -> None:
    """Refuse a container that is too deep, does not close, or has more than `max_items` containers as items.

    Items are the containers opened inside `item_depth` others: 1 for an array of endpoints, 2 for a
    change set.
    """
    items = 0
    for _position, mark, depth in _walk_marks(text):
        if depth == item_depth and mark != _COMMA:
            items += 1
            raise_if_too_many(items, max_items)


def raise_if_too_many(items: int, max_items: int) -> None:
    """Refuse more items than the caller allows."""
    if items > max_items:
        raise TooManyItems(f"more than {max_items} items, which is the limit here")


def _raise_if_item_too_deep(item: bytes) -> None:
    if item[0] in _CLOSING:
        for _mark in _walk_marks(item, levels_above=1):
            pass


def _walk_marks(text: bytes, levels_above: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield (position, mark, depth) for each comma and each closed container, depth after the mark.

    `text` begins with a bracket. A container is yielded once, when it closes, with the position of its
    last bracket.
    """
    # The first bracket is taken by hand, so that commas of a flat outermost container are yielded too.
    expected = [_CLOSING[text[0]]]
    position = 1
    while expected and (match := _NEXT_MARK(text, position)):
        begin, position = match.span(1)
        mark = text[begin]
        if position - begin > 1:
            _raise_if_too_deep(levels_above + len(expected) + 1)
        elif mark in _CLOSING:
            expected.append(_CLOSING[mark])
            _raise_if_too_deep(levels_above + len(expected))
            continue
        elif mark != _COMMA and expected.pop() != mark:
            raise UndecodableBody(f"the bracket at byte {begin} closes what was not opened")
        yield position - 1, text[position - 1], len(expected)
    if expected:
        raise UndecodableBody(f"the JSON does not close: the body was cut short at byte {len(text)}")
    if text[position:].strip(WHITE_SPACE):
        raise UndecodableBody(f"something follows the end of the JSON at byte {position}")


def _raise_if_too_deep(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BodyTooDeep(f"nested deeper than {MAX_DEPTH} levels")
