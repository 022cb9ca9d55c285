"""Any backend over the wire: `python -m providers.servers`."""
