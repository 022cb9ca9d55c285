"""Two values of one provider-specific property, to ask whether they mean the same."""

from typing import NamedTuple


class ValuePair(NamedTuple):
    """A property as it stands and as it is wanted; a side that does not have the property is empty text."""

    name: str
    previous: str
    current: str
