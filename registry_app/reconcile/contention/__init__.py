"""Names where what instances want and what is owned do not agree."""
