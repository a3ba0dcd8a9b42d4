"""Charges of a window whose bounds are not on a quarter-hour.

Owns the pieces at its edges. Refuses whole quarters: their charges are stored, and a question adds
them up. Nothing is written: the calls of at most two quarters are read and charged again, cut at
the window's bounds. Virtual time is an integral, so the parts of a quarter add up to it.
"""

from collections.abc import Iterator

import pyarrow as pa

from ingest.charging.blocks import blocks_of, charge_calls, no_charges
from ingest.charging.estimates import stored_paces, time_calls
from ingest.charging.lanes import lanes_of, read_calls
from ingest.charging.partitions import partitions_of_day
from ingest.charging.pieces import DAY_NS, QUARTER_NS
from ingest.charging.pools import rates_by_pool
from ingest.ledger import Connection

END = 2**63 // QUARTER_NS * QUARTER_NS
"""No instant of the ledger is later; a quarter begins there."""


def edge_pieces(connection: Connection, since: int | None, until: int | None) -> pa.Table:
    """What lies in [since, until) and in no whole quarter of it: rows of the table `charges`.

    Bounds are nanoseconds since 1970; None is unbounded. Added to the charges with
    `ceil(since / quarter) <= quarter < floor(until / quarter)` they are the window's charges.
    """
    stretches = list(_edges(since, until))
    if stretches:
        time_calls(connection, stored_paces(connection))
    edges = [_charged(connection, begin, end) for begin, end in stretches]
    return pa.concat_tables([no_charges(), *edges])


def _edges(since: int | None, until: int | None) -> Iterator[tuple[int, int]]:
    """The parts of [since, until) before its first and after its last whole quarter."""
    begin, end = since or 0, END if until is None else until
    first, last = -(-begin // QUARTER_NS) * QUARTER_NS, end // QUARTER_NS * QUARTER_NS
    if last < first:
        yield begin, end
        return
    if begin < first:
        yield begin, first
    if last < end:
        yield last, end


def _charged(connection: Connection, since: int, until: int) -> pa.Table:
    """The charges of [since, until), which lies in one quarter."""
    partitions = partitions_of_day(connection, since // DAY_NS)
    lanes = lanes_of(partitions)
    calls = read_calls(connection, lanes, since, until)
    return charge_calls(calls, blocks_of(partitions, lanes, rates_by_pool(connection)))
