"""`python -m providers.servers`: see `command_line.py`."""

from providers.servers.command_line import main
from providers.servers.granian_server import end_process

end_process(main())
