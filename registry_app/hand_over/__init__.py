"""Hand-overs: names that go from one owner to another without a gap, each when the new owner wants it."""
