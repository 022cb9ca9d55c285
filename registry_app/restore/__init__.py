"""Backups, and what follows when one was restored: nothing is sent before somebody accepted what is there."""
