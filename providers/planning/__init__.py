"""The plan of an ExternalDNS instance: desired and current endpoints become a change set. Pure."""
