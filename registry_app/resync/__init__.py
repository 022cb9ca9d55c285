"""ConfigMap registries beside what their providers show: the difference told, and made good on request."""
