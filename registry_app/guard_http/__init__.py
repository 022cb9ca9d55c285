"""The guard over HTTP: the webhook protocol, as ExternalDNS speaks it."""
