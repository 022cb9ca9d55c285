"""An approved transfer carried out: each batch stored, sent once, read back, concluded."""
