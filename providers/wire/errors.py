"""What can be wrong with words on the wire. Every message is one sentence with the place in it."""


class WireError(ValueError):
    """Something another party said cannot be read as it is.

    `path` is the place as a JSON path (`$[17].recordTTL`); `reason` says what is wrong there.
    """

    def __init__(self, reason: str, path: str = "$") -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason
        self.path = path

    def __reduce__(self) -> tuple[type["WireError"], tuple[str, str]]:
        # The default would hand the formatted sentence back as the reason.
        return type(self), (self.reason, self.path)


class UndecodableBody(WireError):
    """The body is not JSON, not UTF-8, or was cut short."""


class BodyTooDeep(WireError):
    """The body nests deeper than any honest one does."""


class NotAnArray(WireError):
    """An array was expected where something else is."""


class TooManyItems(WireError):
    """The body holds more items than allowed here."""


class RecordTooLarge(WireError):
    """One record takes more bytes than any honest one does."""


class AmbiguousKeys(WireError):
    """Two readers would read this object differently: a key is repeated or spelled in another case."""


class WrongType(WireError):
    """A value is of another JSON type than its field."""


class InvalidDomainFilter(WireError):
    """A domain filter that cannot be applied: both kinds at once, or a pattern RE2 refuses."""
