"""The dynamodb registry: its items, its store, and the API of its table."""
