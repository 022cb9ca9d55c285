"""Real DNS services behind one Backend protocol."""
