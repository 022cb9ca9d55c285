"""The dynamodb registry as a store, and what speaks to its table."""
