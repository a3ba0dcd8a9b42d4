"""How much memory a command takes of what the configuration allows the database.

Owns the reading of an amount such as "4GB". Refuses to raise what is configured.
"""

import re

import msgspec

from ingest.config import Configuration

INGEST_LIMIT = "256MB"
"""Enough for a part of a source and for charging; a larger cache would not make ingest faster."""

UNIT_BYTES = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def limit_bytes(memory_limit: str) -> int:
    """The bytes of an amount such as "4GB"; raises `ValueError` where it is none."""
    found = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*)", memory_limit.strip())
    if found is None or found.group(2).upper() not in UNIT_BYTES:
        raise ValueError(f"{memory_limit!r} is no amount of memory; write for example 4GB")
    return int(float(found.group(1)) * UNIT_BYTES[found.group(2).upper()])


def frugal(configuration: Configuration) -> Configuration:
    """`configuration` with no more memory than an ingest of any size needs."""
    least = min(configuration.memory_limit, INGEST_LIMIT, key=limit_bytes)
    return msgspec.structs.replace(configuration, memory_limit=least)
