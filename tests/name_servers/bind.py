"""BIND 9."""

from pathlib import Path

from tests.name_servers.running import KEY, SECRET, ZONES, NameServerProgram

_CONFIGURATION = """
options {{ directory "{folder}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
  pid-file "{folder}/named.pid"; session-keyfile "{folder}/session.key"; recursion no; notify no;
  dnssec-validation no; }};
controls {{ }};
key "{name}" {{ algorithm hmac-sha256; secret "{secret}"; }};
{zones}
"""
_ZONE = """zone "{zone}" {{ type primary; file "{folder}/{zone}.zone"; check-names ignore;
  allow-update {{ key "{key}"; }}; allow-transfer {{ key "{key}"; }}; }};
"""


def _write_configuration(folder: Path, port: int) -> Path:
    zones = "".join(_ZONE.format(zone=zone, folder=folder, key=KEY.name) for zone in ZONES)
    path = folder / "named.conf"
    path.write_text(
        _CONFIGURATION.format(folder=folder, port=port, name=KEY.name, secret=SECRET, zones=zones)
    )
    return path


BIND = NameServerProgram("BIND", "named", "bind9", ("-g", "-c"), "all zones loaded", _write_configuration)
