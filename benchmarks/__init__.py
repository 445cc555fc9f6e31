"""Peers side by side; see each file."""
