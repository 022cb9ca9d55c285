"""Reviewed changes of claims: rows, change set, provider, proof."""
