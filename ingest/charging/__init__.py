"""Calls to charges: the virtual-time kernel, its partitions, prices by the token."""

from ingest.charging.partitions import mark_stale
from ingest.charging.pools import apply_configuration
from ingest.charging.recompute import ChargeSummary, Progress, charge, is_charging_current

__all__ = [
    "ChargeSummary",
    "Progress",
    "apply_configuration",
    "charge",
    "is_charging_current",
    "mark_stale",
]
