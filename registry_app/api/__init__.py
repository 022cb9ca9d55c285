"""The REST API: it translates, and has no rules of its own."""
