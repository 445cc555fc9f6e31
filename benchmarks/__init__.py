"""Peers side by side; run as ``python -m benchmarks.NAME``."""
