"""Rolling ownership back to a moment: what changed owner since is given back, by ordinary transfers."""
