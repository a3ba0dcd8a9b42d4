"""Calls into the ledger: upserted on their identity, together with their cohorts.

Owns `call_id`, and the digest and fullness of a call. Refuses to decide what a call is: records
come from readers and from `ingest.calls`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from hashlib import blake2b
from operator import attrgetter

import msgspec
import orjson
import pyarrow as pa

from ingest.ledger import Connection
from ingest.prompt_measures import PromptMeasures, chunk_sums
from ingest.records import Call, Reject
from ingest.store.arrow import Row, append, arrow_table, fitting_table
from ingest.store.deliveries import MergeCounts
from ingest.store.statements import statement

CALL_ID_PREFIX = "call_id:"
"""An identity that begins so carries the `call_id` itself, as an exported ledger does."""

COST_STEP = Decimal("0.000000001")
MAX_USAGE = 16**12 - 1
REMEMBERED_COHORTS = 100_000
"""Cohorts that a delivery remembers having staged; beyond, it begins to remember anew."""

TEXTS = ("prompt", "completion")
MEASURES = "prompt_measures"
"""Field of a call, and side table of its columns."""
COMPUTED = ("call_id", "fullness", "digest")
OF_THE_LEDGER = ("call_no", "cohort_id", "delivery_id", "input_tokens", "output_tokens")
OF_A_COHORT = ("cohort_id", "pool", "pool_from", "pool_until")
"""Columns that the ledger fills in when a call, or a cohort, enters it."""


def call_id_of(identity: str) -> str:
    """32 hex digits, the same for the same identity wherever it came from."""
    if identity.startswith(CALL_ID_PREFIX):
        return identity.removeprefix(CALL_ID_PREFIX)
    return blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class CallTables:
    """Calls as rows, and the cohorts among theirs that had not been met before."""

    calls: pa.Table
    cohorts: pa.Table


class CallRows:
    """Makes rows of calls, in columns that the ledger itself names; each cohort's row comes once.

    The connection is read when the object is made, and not kept.
    """

    def __init__(self, connection: Connection) -> None:
        known, texts, measures, cohorts = (
            connection.table(name).limit(0).to_arrow_table().schema
            for name in ("call_rows", "contents", MEASURES, "cohorts")
        )
        measured = pa.struct([field for field in measures if field.name != "call_id"])
        facts = [name for name in known.names if name not in (*COMPUTED, *OF_THE_LEDGER)]
        self._schema = pa.schema(
            [
                *(known.field(name) for name in facts),
                *(texts.field(name) for name in TEXTS),
                pa.field(MEASURES, measured),
                *(known.field(name) for name in ("call_id", "fullness", "digest")),
                pa.field("cohort_digest", pa.string()),
                pa.field("is_derived", pa.bool_()),
            ]
        )
        dimensions = [name for name in cohorts.names if name not in (*OF_A_COHORT, "digest")]
        self._cohort_schema = pa.schema([cohorts.field(name) for name in (*dimensions, "digest")])
        self._facts_of: Callable[[Call], Row] = attrgetter(*facts)
        self._texts_of: Callable[[Call], Row] = attrgetter(*TEXTS)
        self._dimensions_of: Callable[[Call], Row] = attrgetter(*dimensions)
        self._cohorts: dict[Row, str] = {}

    def tables(self, calls: Sequence[Call], *, is_derived: bool) -> tuple[CallTables, list[Reject]]:
        """`calls` as rows; those that the ledger cannot hold come back as rejects."""
        rows: list[Row] = []
        kept: list[Call] = []
        cohorts: list[Row] = []
        rejects: list[Reject] = []
        for call in calls:
            try:
                rows.append(self._row(call, cohorts, is_derived))
                kept.append(call)
            except (orjson.JSONEncodeError, InvalidOperation) as error:
                rejects.append(_reject(call, f"it holds a value that cannot be kept: {error}"))
        table, unfit = fitting_table(rows, self._schema)
        rejects += [_reject(kept[row.index], row.reason) for row in unfit]
        return CallTables(table, arrow_table(cohorts, self._cohort_schema)), rejects

    def _row(self, call: Call, cohorts: list[Row], is_derived: bool) -> Row:
        if call.reported_cost is not None:
            cost = call.reported_cost.quantize(COST_STEP, ROUND_HALF_EVEN)
            call = replace(call, reported_cost=cost)
        if call.retry_of is not None:
            call = replace(call, retry_of=call_id_of(call.retry_of))
        facts = self._facts_of(call)
        dimensions = self._dimensions_of(call)
        cohort = self._cohorts.get(dimensions)
        if cohort is None:
            cohort = self._remember(dimensions, cohorts)
        said = (*facts, *dimensions, call.prompt_measures)
        content = _content(facts, dimensions, call.prompt_measures)
        return (
            *facts,
            *self._texts_of(call),
            _measured(call.prompt_measures),
            call_id_of(call.identity),
            len(said) - said.count(None),
            f"{_usage_tokens(call):012x}{content}",
            cohort,
            is_derived,
        )

    def _remember(self, dimensions: Row, cohorts: list[Row]) -> str:
        digest = blake2b(orjson.dumps(dimensions), digest_size=16).hexdigest()
        if len(self._cohorts) >= REMEMBERED_COHORTS:
            self._cohorts.clear()
        self._cohorts[dimensions] = digest
        cohorts.append((*dimensions, digest))
        return digest


@dataclass(slots=True)
class CallStage:
    """Puts the calls of one delivery beside the ledger."""

    connection: Connection
    delivery_id: int
    _rows: CallRows = field(init=False)

    def __post_init__(self) -> None:
        self._rows = CallRows(self.connection)

    def add(self, calls: Sequence[Call], *, is_derived: bool) -> list[Reject]:
        """Stage `calls`; those that the ledger cannot hold come back as rejects."""
        tables, rejects = self._rows.tables(calls, is_derived=is_derived)
        self.put(tables)
        return rejects

    def put(self, tables: CallTables) -> None:
        """Stage rows of calls that were made before."""
        delivery = {"delivery_id": self.delivery_id}
        append(self.connection, statement("calls_append"), tables.calls, delivery)
        if tables.cohorts.num_rows:
            append(self.connection, statement("cohorts_append"), tables.cohorts)


def _content(facts: Row, dimensions: Row, measures: PromptMeasures | None) -> str:
    """What the digest says of a call's columns; of one without measures as it ever was."""
    told = (facts, dimensions) if measures is None else (facts, dimensions, measures)
    return blake2b(orjson.dumps(told, default=_plain), digest_size=8).hexdigest()


def _plain(value: object) -> object:
    return msgspec.to_builtins(value) if isinstance(value, PromptMeasures) else str(value)


def _measured(measures: PromptMeasures | None) -> dict[str, object] | None:
    """The columns of the side table, but for the call's id."""
    if measures is None:
        return None
    return {**msgspec.structs.asdict(measures), **chunk_sums(measures)}


def _usage_tokens(call: Call) -> int:
    total = sum(
        tokens or 0
        for tokens in (
            call.uncached_input_tokens,
            call.cache_read_tokens,
            call.cache_write_tokens,
            call.visible_output_tokens,
            call.reasoning_tokens,
        )
    )
    return min(total, MAX_USAGE)


def _reject(call: Call, reason: str) -> Reject:
    return Reject(position=f"call {call.identity}", reason=reason)


def merge_calls(
    connection: Connection, *, once_compared: Callable[[], None] | None = None
) -> MergeCounts:
    """Bring the staged calls into the ledger; how many records were read, new, and different.

    Leaves the temp table `touched_calls`: the calls that entered the ledger or left it. Calls
    `once_compared` when it is known which do, before anything is changed.
    """
    connection.execute(statement("cohorts_merge"))
    connection.execute(statement("calls_compare"))
    if once_compared is not None:
        once_compared()
    connection.execute(statement("calls_number"))
    connection.execute(statement("calls_replace"))
    connection.execute(statement("calls_number"))
    ((read, new, conflict),) = connection.execute(statement("calls_counts")).fetchall()
    return MergeCounts(int(read), int(new), int(conflict))
