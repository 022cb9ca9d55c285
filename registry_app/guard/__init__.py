"""The guard: what it learns from each instance, and what it passes on."""
