"""The ConfigMap registry of the registry proposal: rows, shards, intents, and documents. Pure."""
