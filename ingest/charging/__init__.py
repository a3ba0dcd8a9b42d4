"""Calls to charges: the virtual-time kernel, its partitions, prices by the token."""
