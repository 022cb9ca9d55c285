"""`python -m dnsadmin.samples prepare` writes the sample zone files and prints, as JSON, the servers to
start; `register` makes providers, profiles and owners of them once they listen. Both may run again."""

import json
import os
import sys

import django


def main(arguments: list[str]) -> int:
    """Run one of the two commands; 2 for anything else."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dnsadmin.settings")
    django.setup()

    from dnsadmin.samples.servers import SamplesLost, prepare_samples, register_samples

    if arguments == ["prepare"]:
        try:
            sys.stdout.write(json.dumps(prepare_samples()) + "\n")
        except SamplesLost as error:
            sys.stderr.write(f"{error}\n")
            return 1
    elif arguments == ["register"]:
        register_samples()
    else:
        sys.stderr.write("usage: python -m dnsadmin.samples prepare|register\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
