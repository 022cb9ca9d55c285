"""The REST API: one door, no rules of its own."""
