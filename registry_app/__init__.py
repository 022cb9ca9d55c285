"""DNS ownership: the mirror of many providers, its findings, and reviewed transfers."""
