"""A bounded client of a Kubernetes API."""
