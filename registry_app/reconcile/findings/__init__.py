"""What a person should know, as pure functions over one snapshot and what is known beside it."""
