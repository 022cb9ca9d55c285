"""Three sample providers with about 2,000 record sets, so that a first look has something to look at."""
