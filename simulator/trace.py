"""A trace: which calls a replay sends, when, how long, and which beginnings they share.

Owns the frozen form between the ledger and the engine. Refuses calls whose block structure does
not add up to their length, and says of every call that it leaves out why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from ingest.config import Configuration
from ingest.deliver import deliver_paths
from ingest.ledger import Connection, open_for_writing
from simulator.errors import TraceError
from simulator.statements import statement

FILTERS = ("endpoint", "team", "tenant", "service", "model", "environment")
GENERATING = ("chat", "text_completion", "generate_content")
"""Operations that produce tokens; embeddings and the like have nothing to decode."""

LABELS = ("endpoint", "team", "feature", "tenant")
"""What a replayed call keeps of the recorded one, beside its shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """One call to send. `arrived_s` counts from the first call of the trace.

    `after` is the position of the call that has to end first, `think_s` the recorded time between
    its end and this call. `blocks` identify the leading blocks of `block_tokens` each; `ending`
    identifies the text behind them.
    """

    call_id: str
    session: str
    arrived_s: float
    input_tokens: int
    output_tokens: int
    blocks: tuple[int, ...] = ()
    block_tokens: int = 0
    ending: str
    after: int | None = None
    think_s: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Calls in order of arrival. `notes` say what was left out or changed, one sentence each."""

    source: str
    calls: tuple[TracedCall, ...]
    notes: tuple[str, ...] = ()

    @property
    def duration_s(self) -> float:
        """From the first to the last arrival, in seconds."""
        return self.calls[-1].arrived_s

    @property
    def rate_per_s(self) -> float | None:
        """Mean arrivals per second; None where all calls arrive at one instant."""
        return (len(self.calls) - 1) / self.duration_s if self.duration_s > 0 else None


def rows_from_paths(paths: Sequence[str], configuration: Configuration) -> pl.DataFrame:
    """The replayable form of the calls in files of any known format."""
    with open_for_writing(None, memory_limit=configuration.memory_limit) as ledger:
        for delivery in deliver_paths(ledger, paths, configuration):
            if delivery.error is not None:
                raise TraceError(f"{delivery.source} cannot be replayed: {delivery.error}")
        return rows_from_ledger(ledger.connection, {}, origin=None)


def rows_from_ledger(
    connection: Connection,
    where: Mapping[str, str],
    *,
    origin: str | None = "production",
    since: int | None = None,
    until: int | None = None,
) -> pl.DataFrame:
    """The ledger's calls in order of arrival, filtered by `where`, origin and time (ns)."""
    unknown = sorted(set(where) - set(FILTERS))
    if unknown:
        raise TraceError(f"a trace cannot be filtered by {unknown[0]!r}; use {', '.join(FILTERS)}")
    window = {"origin": origin, "since": since, "until": until}
    parameters = {**dict.fromkeys(FILTERS), **where, **window}
    rows: pl.DataFrame = connection.sql(statement("trace_calls"), params=parameters).pl()
    return rows


def usable_rows(rows: pl.DataFrame, source: str) -> tuple[pl.DataFrame, list[str]]:
    """The rows that can be sent, and a sentence for each reason to leave others out."""
    reasons = {
        "have no time of arrival": pl.col("arrived_at").is_null(),
        "are no generation of tokens": ~pl.col("operation").is_in(GENERATING),
        "have an unknown number of tokens": pl.col("input_tokens").is_null()
        | pl.col("output_tokens").is_null(),
        "have no input or no output tokens": (pl.col("input_tokens") < 1)
        | (pl.col("output_tokens") < 1),
    }
    notes: list[str] = []
    kept = rows
    for reason, is_out in reasons.items():
        rest = kept.filter(~is_out)
        if kept.height > rest.height:
            notes.append(f"{kept.height - rest.height:,} calls of {source} {reason}: not replayed")
        kept = rest
    if kept.is_empty():
        raise TraceError(
            f"{source} holds no call that can be replayed"
            + (f" ({'; '.join(notes)})" if notes else "; ingest some, or widen the filter")
        )
    _refuse_uneven_blocks(kept, source)
    return kept, notes


def trace_from_rows(rows: pl.DataFrame, source: str, notes: Sequence[str] = ()) -> Trace:
    """The trace of usable `rows` that carry a column `session`; later turns follow their parent."""
    first = int(rows["arrived_at"].min())  # type: ignore[arg-type] # no row is without a time
    calls: list[TracedCall] = []
    latest: dict[str, tuple[int, int | None]] = {}
    for position, row in enumerate(rows.iter_rows(named=True)):
        previous, ended_at = latest.get(row["conversation_id"], (None, None))
        waited = ended_at is not None and ended_at <= row["arrived_at"]
        calls.append(
            TracedCall(
                call_id=row["call_id"],
                session=row["session"],
                arrived_s=(row["arrived_at"] - first) / 1e9,
                input_tokens=row["input_tokens"],
                output_tokens=row["output_tokens"],
                blocks=tuple(row["prefix_hashes"] or ()),
                block_tokens=row["prefix_block_tokens"] or 0,
                ending=row["input_hash"] or row["call_id"],
                after=previous if waited else None,
                think_s=(row["arrived_at"] - ended_at) / 1e9 if waited else 0.0,
                labels={name: row[name] for name in LABELS if row[name] is not None},
            )
        )
        if row["conversation_id"] is not None:
            latest[row["conversation_id"]] = (position, row["ended_at"])
    return Trace(source=source, calls=tuple(calls), notes=tuple(notes))


def _refuse_uneven_blocks(rows: pl.DataFrame, source: str) -> None:
    """Blocks must cover the prompt, or all of it but a last block that is not full."""
    count, size = pl.col("prefix_hashes").list.len(), pl.col("prefix_block_tokens")
    full = pl.col("input_tokens") // size
    covering = (pl.col("input_tokens") + size - 1) // size
    uneven = rows.filter(
        (count > 0) & (size.is_null() | (size < 1) | ((count != full) & (count != covering)))
    )
    if not uneven.is_empty():
        row = uneven.row(0, named=True)
        raise TraceError(
            f"{uneven.height:,} calls of {source} have blocks that do not fit their length; "
            f"{row['call_id']} has {row['input_tokens']:,} input tokens in "
            f"{len(row['prefix_hashes']):,} blocks of {row['prefix_block_tokens']}; the block size "
            "must travel with the trace"
        )
    sizes = rows.filter(count > 0)["prefix_block_tokens"].unique().sort().to_list()
    if len(sizes) > 1:
        raise TraceError(
            f"{source} mixes blocks of {' and '.join(map(str, sizes))} tokens; replay one source "
            "at a time, for example with --where service=NAME"
        )
