"""From the wire to one frozen snapshot; writes nothing."""
