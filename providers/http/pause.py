"""How long to wait before something that failed is tried again."""

from random import SystemRandom

_dice = SystemRandom()
# More would only be numbers that no `longest` lets through.
_MOST_DOUBLINGS = 30


def compute_pause(
    failures: int, *, first: float, longest: float, spread: tuple[float, float] = (1.0, 1.0)
) -> float:
    """Seconds to wait after the `failures`-th failure in a row: `first`, doubled after each further one,
    `longest` at most. A random factor within `spread` keeps many from trying at the same moment."""
    doubled = first * (1 << min(failures - 1, _MOST_DOUBLINGS))
    return min(doubled, longest) * _dice.uniform(*spread)
