"""What real providers do wrong, played on demand by a server under test, and what it was asked."""
