"""A server for tests, in this process: the product's applications, with a place for faults below HTTP."""
