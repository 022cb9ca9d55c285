"""Commands typed beside `make run`, in the same folder and with nothing set, work as it does."""

import subprocess
import sys

from tests.journeys.running import RunningDnsadmin


def _run_command(system: RunningDnsadmin, *words: str) -> "subprocess.CompletedProcess[str]":
    assumed = ("DNSADMIN_HTTPS", "DNSADMIN_ALLOW_LOOPBACK", "DNSADMIN_LOG_FORMAT")
    environment = {name: value for name, value in system.environment.items() if name not in assumed}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_provider_on_this_machine_is_synced_by_a_command_too(dnsadmin: RunningDnsadmin) -> None:
    done = _run_command(dnsadmin, "dnsadmin_sync", "public-dns")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout


def test_the_provider_that_stands_in_the_documentation_can_be_asked(dnsadmin: RunningDnsadmin) -> None:
    [url] = [row["url"] for row in dnsadmin.fetch_all("providers/") if row["name"] == "public-dns"]

    done = _run_command(dnsadmin, "dnsadmin_providers", "conformance", url)

    assert "does not allow connections" not in done.stdout
    assert " 0 failed" in done.stdout
