"""Knot DNS."""

from pathlib import Path

from tests.name_servers.running import KEY, SECRET, ZONES, NameServerProgram

_CONFIGURATION = """
server:
    rundir: "{folder}"
    listen: 127.0.0.1@{port}
database:
    storage: "{folder}"
log:
  - target: stderr
    any: info
key:
  - id: {name}
    algorithm: hmac-sha256
    secret: {secret}
acl:
  - id: ours
    key: {name}
    action: [transfer, update]
template:
  - id: default
    storage: "{folder}"
    file: "%s.zone"
    acl: ours
zone:
{zones}
"""


def _write_configuration(folder: Path, port: int) -> Path:
    zones = "\n".join(f"  - domain: {zone}" for zone in ZONES)
    path = folder / "knot.conf"
    path.write_text(
        _CONFIGURATION.format(folder=folder, port=port, name=KEY.name, secret=SECRET, zones=zones)
    )
    return path


KNOT = NameServerProgram("Knot", "knotd", "knot", ("-c",), "server started", _write_configuration)
