"""One trace as a waterfall: its spans from the top down, and for calls their phases and money.

Owns the order and depth of the rows and the phases' places in time. Refuses to guess which trace
is meant: an identity that begins several is an error that names them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.calls import INSTANTS, calls_of
from analysis.errors import NoDataError, WrongQuestionError
from analysis.instants import with_instant_texts
from analysis.sql import question_named, run_question
from analysis.trace_outline import NS_PER_S, Whole, chosen, outlined, whole_of
from analysis.window import Window
from analysis.wording import counted
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

NAMED_IDENTITIES = 4
SHOWN_ROWS = 500
"""Of a larger trace so many rows are shown, where nothing else is asked."""

SOUND = ("ok", "unset")
"""What a call or a span that did not fail has for a status."""

Row = dict[str, Any]

CALL_COLUMNS: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "call_id": pl.String,
    "endpoint": pl.String,
    "team": pl.String,
    "model": pl.String,
    "pool": pl.String,
    "replica": pl.String,
    "http_status": pl.Int32,
    "arrived_at": pl.Int64,
    "started_at": pl.Int64,
    "first_token_at": pl.Int64,
    "ended_at": pl.Int64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "gpu_seconds": pl.Float64,
    "prefill_gpu_seconds": pl.Float64,
    "decode_gpu_seconds": pl.Float64,
    "basis": pl.String,
    "cost": pl.Decimal(38, 9),
    "currency": pl.String,
    "cost_status": pl.String,
    "unpriced_reason": pl.String,
    "timing_source": pl.String,
}
"""What a row shows of its call, as `ask calls` has it."""

SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "span_id": pl.String,
    "parent_span_id": pl.String,
    "depth": pl.Int32,
    "name": pl.String,
    "kind": pl.String,
    "is_call": pl.Boolean,
    "service": pl.String,
    "status": pl.String,
    "at_s": pl.Float64,
    "duration_s": pl.Float64,
    "queue_at_s": pl.Float64,
    "queue_s": pl.Float64,
    "prefill_at_s": pl.Float64,
    "prefill_s": pl.Float64,
    "decode_at_s": pl.Float64,
    "decode_s": pl.Float64,
    "unsplit_s": pl.Float64,
    "other_s": pl.Float64,
    **CALL_COLUMNS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceAnswer(Answer):
    """The shown rows of a trace, and in `whole` what all of them come to."""

    whole: Whole


def trace(
    ledger: Ledger, configuration: Configuration, identity: str, *, most_rows: int = SHOWN_ROWS
) -> TraceAnswer:
    """The spans of the trace (or the one call) whose id begins with `identity`, from the top down.

    Of more than `most_rows` those that `trace_outline.RULE` names. `*_at_s` are seconds since the
    trace began. A call has `queue_s`, `prefill_s`, `decode_s`, or `unsplit_s` where its phases are
    not known; any other span has `other_s`. Raises `NoDataError` where there is none,
    `WrongQuestionError` where there are several.
    """
    connection = ledger.connection
    kind, found = _resolved(connection, identity)
    is_trace = kind == "trace"
    spans = run_question(connection, question_named("trace"), trace_id=found if is_trace else None)
    calls = _calls_in(connection, found) if is_trace else calls_of(connection, call_ids=[found])
    outline = outlined(spans, calls)
    whole = whole_of(outline, spans.height, calls)
    shown = chosen(outline, most_rows)
    rows = _merged(
        spans.filter(pl.col("span_id").is_in(shown["span_id"].implode())).to_dicts(),
        calls.filter(pl.col("call_id").is_in(shown["call_id"].implode())).to_dicts(),
    )
    placed = [row | _times(row, whole.began_at) for row in _from_the_top(rows)]
    frame = pl.DataFrame(
        [{column: row.get(column) for column in SCHEMA} for row in placed], schema=dict(SCHEMA)
    )
    about = f"{kind} {found}: {counted(spans.height, 'span')}, {counted(calls.height, 'call')}"
    limited = (whole.shown_text(shown.height),) if shown.height < outline.height else ()
    return TraceAnswer(
        frame=with_instant_texts(frame, INSTANTS, configuration.timezone),
        notes=(about, *limited, whole.text()),
        window=Window(timezone=configuration.timezone),
        whole=whole,
    )


def _calls_in(connection: Connection, trace_id: str) -> pl.DataFrame:
    """The calls of the trace, each at its span there, also where another view is innermost."""
    calls = calls_of(connection, trace_id=trace_id)
    views = run_question(connection, question_named("calls_of_trace"), trace_id=trace_id)
    elsewhere = views.filter(~pl.col("call_id").is_in(calls["call_id"].implode())).unique(
        "call_id", keep="first", maintain_order=True
    )
    if elsewhere.is_empty():
        return calls
    others = calls_of(connection, call_ids=elsewhere["call_id"].to_list())
    at_spans = others.drop("span_id").join(elsewhere, on="call_id")
    return pl.concat([calls, at_spans.select(calls.columns)])


def _resolved(connection: Connection, identity: str) -> tuple[str, str]:
    """The kind (`trace`, `call`) and whole id of what `identity` begins; a trace comes first."""
    rows = run_question(
        connection,
        question_named("identities"),
        prefix=identity.strip().lower(),
        most_rows=NAMED_IDENTITIES,
    ).rows()
    exact = [row for row in rows if row[1] == identity.strip().lower()]
    if exact:
        return max(exact)
    if not rows:
        raise NoDataError(
            f"no trace and no call begins with {identity!r}; `gpuledger ask calls` lists them"
        )
    if len(rows) > 1:
        names = ", ".join(f"{kind} {found}" for kind, found in rows)
        raise WrongQuestionError(f"{identity!r} begins several: {names}; write more of it")
    return str(rows[0][0]), str(rows[0][1])


def _merged(spans: Iterable[Row], calls: Iterable[Row]) -> list[Row]:
    """A row a span, with its call if it has one, and a row for each call without a span."""
    unplaced = {call["call_id"]: call for call in calls}
    by_span = {call["span_id"]: call for call in unplaced.values() if call["span_id"] is not None}
    rows = []
    for span in spans:
        call = by_span.get(span["span_id"])
        begin_and_end = {"begun_at": span["started_at"], "done_at": span["ended_at"]}
        if call is None:
            rows.append(_without_call(span) | begin_and_end)
        else:
            unplaced.pop(call["call_id"])
            rows.append(_with_call(call, span["name"], span["service"]) | begin_and_end)
            rows[-1]["parent_span_id"] = span["parent_span_id"]
    for call in unplaced.values():
        begun_at = call["started_at"] if call["arrived_at"] is None else call["arrived_at"]
        named = _with_call(call, call["model"] or "call", call["service"])
        rows.append(named | {"begun_at": begun_at, "done_at": call["ended_at"]})
    return rows


def _without_call(span: Row) -> Row:
    shown = ("span_id", "parent_span_id", "name", "service", "status", "kind")
    return {column: span[column] for column in shown} | {"is_call": False}


def _with_call(call: Row, name: str, service: str | None) -> Row:
    shown = {column: call[column] for column in CALL_COLUMNS}
    phases = {column: call[column] for column in ("queue_s", "prefill_s", "decode_s")}
    return {
        "span_id": call["span_id"],
        "parent_span_id": None,
        "name": name,
        "service": service,
        "status": call["status"],
        "kind": "model",
        "is_call": True,
        **shown,
        **phases,
    }


def _from_the_top(rows: Iterable[Row]) -> Iterable[Row]:
    """`rows` with `depth`, each parent before its children, siblings in the order of time.

    A span whose parent is not there, or is below itself, stands at the top.
    """
    ordered = sorted(rows, key=lambda row: (row["begun_at"] is None, row["begun_at"] or 0))
    known = {row["span_id"] for row in ordered if row["span_id"] is not None}
    children: dict[str | None, list[Row]] = {}
    for row in ordered:
        parent = row["parent_span_id"] if row["parent_span_id"] in known else None
        children.setdefault(parent, []).append(row)
    placed: set[int] = set()
    for root in [*children.get(None, []), *ordered]:
        stack = [(root, 0)]
        while stack:
            row, depth = stack.pop()
            if id(row) in placed:
                continue
            placed.add(id(row))
            yield row | {"depth": depth}
            below = children.get(row["span_id"], []) if row["span_id"] is not None else []
            stack.extend((child, depth + 1) for child in reversed(below))


def _times(row: Row, began_at: int) -> Row:
    """Where the row's bars begin and how long they are, in s."""
    at_s, duration_s = _since(row["begun_at"], began_at), _length(row["begun_at"], row["done_at"])
    times: Row = {"at_s": at_s, "duration_s": duration_s}
    if not row["is_call"]:
        return times | {"other_s": duration_s}
    if row["prefill_s"] is None or row["decode_s"] is None:
        return times | {"queue_s": None, "unsplit_s": duration_s}
    served_at = row["arrived_at"] if row["started_at"] is None else row["started_at"]
    prefill_at_s = _since(served_at, began_at)
    return times | {
        "queue_at_s": _since(row["arrived_at"], began_at),
        "prefill_at_s": prefill_at_s,
        "decode_at_s": None if prefill_at_s is None else prefill_at_s + row["prefill_s"],
    }


def _since(at: int | None, began_at: int) -> float | None:
    return None if at is None else (at - began_at) / NS_PER_S


def _length(begun_at: int | None, done_at: int | None) -> float | None:
    if begun_at is None or done_at is None or done_at < begun_at:
        return None
    return (done_at - begun_at) / NS_PER_S
