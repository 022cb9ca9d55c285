"""ExternalDNS's webhook types on the wire: values, names, filters and their JSON."""
