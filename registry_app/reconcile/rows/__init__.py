"""The mirror's rows against a snapshot: compared by digest, written in bulk."""
