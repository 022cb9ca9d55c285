"""What people configure: providers, profiles, owners, clusters, freezes, grants and tokens."""
