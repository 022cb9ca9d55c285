"""Snapshot and mirror rows to a plan, and the plan into rows and findings."""
