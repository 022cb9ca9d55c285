"""The errors of dnsadmin. Interfaces translate them; use cases raise them and know no HTTP."""

from django.db import InterfaceError, OperationalError

# It is away, full, locked or read-only; SQLite says so of one that was never migrated, too.
DATABASE_ERRORS = (OperationalError, InterfaceError)


class DnsadminError(Exception):
    """Something was not done. `code` is stable for programs; the three sentences are for people:
    what happened, what is true now, what to do."""

    code = "error"

    def __init__(self, happened: str, *, now: str = "Nothing was changed.", todo: str = "", code: str = ""):
        super().__init__(happened)
        self.happened = happened
        self.now = now
        self.todo = todo
        self.code = code or self.code

    def __str__(self) -> str:
        return " ".join(part for part in (self.happened, self.now, self.todo) if part)


class InvalidRequest(DnsadminError):
    """The request does not make sense; `fields` says where, by field name."""

    code = "invalid_request"

    def __init__(
        self,
        happened: str,
        *,
        fields: dict[str, list[str]] | None = None,
        now: str = "Nothing was changed.",
        todo: str = "Correct it and send it again.",
        code: str = "",
    ):
        super().__init__(happened, now=now, todo=todo, code=code)
        self.fields = fields or {}


class NotAllowed(DnsadminError):
    """This actor may not do this."""

    code = "not_allowed"


class NotFound(DnsadminError):
    """The object is not there (or was purged)."""

    code = "not_found"


class RefusedBySafety(DnsadminError):
    """The request is understood and allowed, and a safety rule says no: a freeze, a threshold, a lock,
    a missing confirmation."""

    code = "refused_by_safety"


class ConfirmationNeeded(RefusedBySafety):
    """What is asked for is meant only if `confirmation_text` was typed, exactly."""

    code = "confirmation_needed"

    def __init__(self, happened: str, confirmation_text: str):
        super().__init__(happened, todo=f"To do it anyway, confirm it by typing exactly: {confirmation_text}")
        self.confirmation_text = confirmation_text


class StateMoved(DnsadminError):
    """The row moved since it was read: someone was first, the form is stale, or the plan was edited."""

    code = "state_moved"


class LeaseLost(DnsadminError):
    """The right to sync a provider ended or was never had; another run has it."""

    code = "lease_lost"


class ClockOff(DnsadminError):
    """This machine's clock is off: leases and expiry would be computed wrongly."""

    code = "clock_off"


class SecretUnavailable(DnsadminError):
    """A stored secret cannot be decrypted, or its reference leads nowhere."""

    code = "secret_unavailable"


class DatabaseUnusable(DnsadminError):
    """The database is away, full, read-only or not migrated; `reason` is what it said itself."""

    code = "database_unavailable"

    def __init__(self, reason: object) -> None:
        super().__init__(
            f"The database cannot be used: {' '.join(str(reason).split()).rstrip('.?')}.",
            now="What was committed before is kept.",
            todo="Check that it runs, is writable and is migrated (python -m dnsadmin.roles migrate). "
            "Then try again.",
        )
