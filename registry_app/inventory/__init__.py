"""What people tell us: providers, profiles, owners, clusters, freezes, grants and tokens."""
