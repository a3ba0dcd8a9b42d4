"""Paths to bytes: archives, compression, recognition of what is no data."""
