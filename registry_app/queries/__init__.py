"""Reads: what the doors and the cycles ask of the rows. Nothing here writes."""
