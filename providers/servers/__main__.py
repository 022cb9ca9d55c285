"""The door of `python -m providers.servers`."""

import sys

from providers.servers.command_line import main

sys.exit(main())
