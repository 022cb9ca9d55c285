"""What landed: `landed.txt` holds the digest of each migration; a blank line stands between what landed
at different times. A new migration gets its line when it lands, after a blank one if it is the first of
its time:
`cd registry_app/migrations && sha256sum 0016_*.py >> ../../tests/registry_app/migrations/landed.txt`
"""

from pathlib import Path

_LANDED = Path(__file__).with_name("landed.txt")


def read_landed() -> dict[str, str]:
    """Name and digest of each migration that landed, in order."""
    lines = (line.split() for line in _LANDED.read_text(encoding="ascii").splitlines() if line)
    return {name.removesuffix(".py"): digest for digest, name in lines}


def read_states() -> list[str]:
    """The last migration of each landing: what a database that exists may have come to."""
    landings = _LANDED.read_text(encoding="ascii").strip().split("\n\n")
    return [landing.split()[-1].removesuffix(".py") for landing in landings]
