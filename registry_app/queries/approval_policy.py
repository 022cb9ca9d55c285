"""Which approval policy holds: the strictest of those that a request met."""

from registry_app.models import HandOver, Provider, Transfer

_ORDER = tuple(Provider.ApprovalPolicy)


def is_looser(before: str, after: str) -> bool:
    """Whether `after` asks for less than `before`: no approval, another person, both sides."""
    return _rank(after) < _rank(before)


def pick_strictest(*policies: str) -> Provider.ApprovalPolicy:
    """The one that asks for the most."""
    return _ORDER[max(_rank(policy) for policy in policies)]


def find_policy(row: Transfer | HandOver) -> Provider.ApprovalPolicy:
    """What a transfer or hand-over needs: by the policy at the request, or by today's if it asks for more."""
    return pick_strictest(row.approval_policy, row.provider.approval_policy)


def needs_other_person(row: Transfer | HandOver) -> bool:
    """Whether the approval is for a single person, who must be another one than the requester."""
    return find_policy(row) == Provider.ApprovalPolicy.OTHER_PERSON


def needs_both_sides(row: Transfer | HandOver) -> bool:
    """Whether somebody for the giver and somebody for the taker must each consent."""
    return find_policy(row) == Provider.ApprovalPolicy.BOTH_SIDES


def _rank(policy: str) -> int:
    return _ORDER.index(Provider.ApprovalPolicy(policy))
