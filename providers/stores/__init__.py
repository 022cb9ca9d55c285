"""Registry stores: places beside DNS where claims are kept and written."""
