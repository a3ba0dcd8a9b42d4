"""One module a format: bytes to spans or calls."""
