"""Reads for the interfaces, the use cases and the scheduler. Nothing here writes."""
