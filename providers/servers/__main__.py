"""`python -m providers.servers`: see `command_line.py`."""

import os
import sys

from providers.servers.command_line import main

status = main()
sys.stdout.flush()
sys.stderr.flush()
# A thread of granian that wants the interpreter while it is being taken down would abort the process.
os._exit(status)
