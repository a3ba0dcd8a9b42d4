"""What every call of a trace is derived with.

Owns nothing but the bundle. Refuses state.
"""

from dataclasses import dataclass

from ingest.calls.aliases import AliasTable
from ingest.calls.mapping import ColumnMap
from ingest.config import Configuration


@dataclass(frozen=True, slots=True)
class Derivation:
    """The configuration, what its `[map]` means, and the alias table."""

    configuration: Configuration
    columns: ColumnMap
    table: AliasTable
