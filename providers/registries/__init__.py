"""How ownership is written down: labels, encryption, TXT names, and which claim is for which endpoint."""
