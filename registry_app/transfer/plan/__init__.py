"""What a transfer would do, and why it may not: computed, shown, fingerprinted."""
