"""The ConfigMap registry as a store."""
