"""Where desired endpoints come from without a cluster: DNSEndpoint manifests in files."""
