"""How much memory a command takes of what the configuration allows the database.

Owns the reading of an amount such as "4GB". Refuses to raise what is configured.
"""

import os
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
    """The bytes of an amount such as "4GB", or of a share of the machine's memory such as "50%".

    Raises `ValueError` where it is neither.
    """
    found = re.fullmatch(r"([0-9.]+)\s*([A-Za-z]*|%)", memory_limit.strip())
    unit = found.group(2).upper() if found else ""
    if found is None or (unit != "%" and unit not in UNIT_BYTES):
        raise ValueError(f"{memory_limit!r} is no amount of memory; write for example 4GB")
    whole = _machine_bytes() / 100 if unit == "%" else UNIT_BYTES[unit]
    return int(float(found.group(1)) * whole)


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def frugal(configuration: Configuration) -> Configuration:
    """`configuration` with no more memory than an ingest of any size needs."""
    least = min(configuration.memory_limit, INGEST_LIMIT, key=limit_bytes)
    return msgspec.structs.replace(configuration, memory_limit=least)
