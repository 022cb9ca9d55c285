"""How a backend says no. The text reaches the client's log: what happened, what is true now, what to do."""


class BackendError(Exception):
    """The DNS service could not do what was asked. A server answers 500: the client tries again later."""


class ChangeRefused(BackendError):
    """The change does not fit what is held now. Passing: after a fresh read it may be right, so still 500."""


class ChangeImpossible(BackendError):
    """This backend can never hold what was asked. Standing: a server answers 400, the request must change."""
