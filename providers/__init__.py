"""The wire, the registries and the servers of DNS providers: pure Python, no Django, no database."""
