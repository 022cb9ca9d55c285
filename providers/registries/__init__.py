"""How ownership is written down: labels, encryption, TXT names, and which claim speaks for which endpoint."""
