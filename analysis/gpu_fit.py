"""Which type of GPU suits a model: what each cost and how fast each was, as measured.

Owns the comparison of two types that served one model: the tokens of the one at the prices of the
other, phase by phase, so that another mix of prompts and answers is no difference. Refuses to guess
what a GPU would do that is not in the ledger.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from analysis.answer import Answer
from analysis.capacity.lanes import NO_POOL
from analysis.capacity.verdicts import Verdict, verdict_frame
from analysis.concurrency import concurrency
from analysis.errors import NoDataError, WrongQuestionError
from analysis.extent import bounded, no_calls
from analysis.idle import idle
from analysis.letters import PICOSECONDS_PER_S
from analysis.lines import MONEY, PRICE
from analysis.money import PRICE_QUANTUM, rounded, total
from analysis.scan import EDGE_CHARGES
from analysis.selection import read_cohorts, selected
from analysis.sql import question_named, run_question
from analysis.window import Window
from ingest.charging.window import edge_pieces
from ingest.config import Configuration
from ingest.ledger import Connection, Ledger

GPU_FIT_FILTERS = ("pool", "model", "origin")

CHEAPER_RATIO = 0.95
"""A type whose cost of the same tokens is below this share is cheaper."""
SLOWER_RATIO = 1.1
"""A type whose p95 is above this multiple is slower."""
ONE_TYPE = (
    "what another type of GPU does with {model}: the ledger has one; serve a part of the calls "
    "from a pool of another gpu, or replay them there"
)
NO_GPU = "the type of its GPUs: set gpu of [[pools]]"
NO_PRICE = "the price of its GPUs: set price_per_gpu_hour of [[pools]]"

FIGURES: Mapping[str, Any] = {
    "pool": pl.String,
    "model": pl.String,
    "gpu": pl.String,
    "gpus_per_replica": pl.Float64,
    "call_count": pl.Int64,
    "gpu_seconds": pl.Float64,
    "B": pl.Float64,
    "prefill_ratio": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "input_tokens_per_prefill_gpu_s": pl.Float64,
    "output_tokens_per_decode_gpu_s": pl.Float64,
    "tokens_per_gpu_s": pl.Float64,
    "ttft_p95_s": pl.Float64,
    "tpot_p95_s": pl.Float64,
    "cost": MONEY,
    "cost_per_1k_tokens": PRICE,
    "currency": pl.String,
    "busy_ratio": pl.Float64,
    "kv_p95_ratio": pl.Float64,
    "other_gpu": pl.String,
    "other_cost_ratio": pl.Float64,
    "other_ttft_p95_s": pl.Float64,
    "other_tpot_p95_s": pl.Float64,
}
Row = dict[str, Any]


def gpu_fit(
    ledger: Ledger,
    configuration: Configuration,
    *,
    by: Sequence[str] = (),
    window: Window | None = None,
    where: Mapping[str, str | None] | None = None,
) -> Answer:
    """One row a pool, model, type of GPU and currency. Columns: docs/capacity.md.

    Raises `NoDataError` where no call is charged by GPU-seconds.
    """
    if by and set(by) - {"pool", "model"}:
        raise WrongQuestionError("gpu_fit is by pool, model and type of GPU")
    asked = window or Window(timezone=configuration.timezone)
    resolved = bounded(ledger.connection, asked, selected(where))
    busy, kv = _busy(ledger, configuration, resolved), _kv(ledger, configuration, resolved)
    rows = [
        row | {"busy_ratio": busy.get(row["pool"]), "kv_p95_ratio": kv.get(row["pool"])}
        for row in _compared(ledger.connection, resolved, where)
    ]
    frame = pl.DataFrame(
        [{name: row[name] for name in FIGURES} for row in rows], schema=dict(FIGURES)
    ).sort("model", "pool", "gpu", "currency", nulls_last=True)
    return Answer(frame=frame, notes=tuple(_notes(frame, resolved)), window=resolved)


def gpu_fit_verdicts(
    ledger: Ledger, configuration: Configuration, *, window: Window | None = None
) -> pl.DataFrame:
    """Whether another type of GPU, of those measured, would do for lever 44; see `Verdict`.

    Only the type of GPU: the number of replicas over the day is a matter of idle time. A pool has a
    row for each of its models and types.
    """
    asked = window or Window(timezone=configuration.timezone)
    rows = _compared(ledger.connection, bounded(ledger.connection, asked, selected({})), None)
    return verdict_frame(_verdict(row) for row in rows)


def _compared(
    connection: Connection, window: Window, where: Mapping[str, str | None] | None
) -> list[Row]:
    """A row for each pool, model, type and currency, with the cheapest other type beside it."""
    filters = selected(where)
    cohorts = read_cohorts(connection, filters).filter(pl.col("pool").is_not_null())
    if cohorts.is_empty():
        raise NoDataError(NO_POOL)
    rows = [_measured(row) for row in _read(connection, cohorts, window)]
    rows = [row for row in rows if row["gpu_seconds"]]
    if not rows:
        raise no_calls(connection, window, filters)
    return [row | _beside(row, [one for one in rows if _is_other(row, one)]) for row in rows]


def _read(connection: Connection, cohorts: pl.DataFrame, window: Window) -> list[Row]:
    edges = edge_pieces(connection, window.since, window.until)
    connection.register(EDGE_CHARGES, edges)
    try:
        return run_question(
            connection,
            question_named("gpu_fit"),
            cohort_ids=cohorts["cohort_id"].to_list(),
            since=window.since,
            until=window.until,
            first_quarter=window.first_quarter,
            until_quarter=window.until_quarter,
        ).to_dicts()
    finally:
        connection.unregister(EDGE_CHARGES)


def _measured(row: Row) -> Row:
    """The figures of one row by themselves; `_prefill_rate`, `_decode_rate` are money a token."""
    prefill_s, decode_s = _seconds(row["prefill_gpu_ps"]), _seconds(row["decode_gpu_ps"])
    gpu_s = prefill_s + decode_s
    costs = [cost for cost in (row["prefill_cost"], row["decode_cost"]) if cost is not None]
    cost = total(costs) if len(costs) == 2 else None
    prompt, answer = row["input_tokens"], row["output_tokens"]
    tokens = None if prompt is None or answer is None else prompt + answer
    return row | {
        "gpu_seconds": gpu_s,
        "B": _quotient(_seconds(row["residence_ps"]), gpu_s),
        "prefill_ratio": _quotient(prefill_s, gpu_s),
        "input_tokens_per_prefill_gpu_s": _quotient(prompt, prefill_s),
        "output_tokens_per_decode_gpu_s": _quotient(answer, decode_s),
        "tokens_per_gpu_s": _quotient(tokens, gpu_s),
        "cost": None if cost is None else rounded(cost),
        "cost_per_1k_tokens": _each(cost, tokens, 1_000),
        "_prefill_rate": _each(row["prefill_cost"], prompt),
        "_decode_rate": _each(row["decode_cost"], answer),
    }


def _seconds(picoseconds: Decimal | None) -> float:
    return 0.0 if picoseconds is None else int(picoseconds) / PICOSECONDS_PER_S


def _quotient(part: float | None, whole: float) -> float | None:
    return part / whole if part is not None and whole else None


def _each(cost: Decimal | None, tokens: int | None, count: int = 1) -> Decimal | None:
    """The cost of `count` tokens."""
    return rounded(cost * count / tokens, PRICE_QUANTUM) if cost is not None and tokens else None


def _busy(ledger: Ledger, configuration: Configuration, window: Window) -> dict[str, float]:
    """Pool to the share of its provisioned GPU-seconds that is busy; replays are busy too."""
    try:
        rows = idle(ledger, configuration, by=("pool",), window=window).frame.to_dicts()
    except NoDataError:
        return {}
    sums: dict[str, list[float]] = {}
    for row in rows:
        found = sums.setdefault(row["pool"], [0.0, 0.0])
        found[0] += row["provisioned_gpu_seconds"] - row["idle_gpu_seconds"]
        found[1] += row["provisioned_gpu_seconds"]
    return {pool: busy / offered for pool, (busy, offered) in sums.items() if offered}


def _kv(ledger: Ledger, configuration: Configuration, window: Window) -> dict[str, float | None]:
    """Pool to the p95 of its KV memory in use."""
    frame = concurrency(ledger, configuration, window=window).frame
    return dict(frame.select("pool", "kv_p95_ratio").iter_rows())


def _is_other(row: Row, other: Row) -> bool:
    """Whether `other` is another type of GPU that served the same model for the same currency."""
    return (
        other["model"] == row["model"]
        and other["model"] is not None
        and None not in (row["gpu"], other["gpu"])
        and other["gpu"] != row["gpu"]
        and other["currency"] == row["currency"]
    )


def _beside(row: Row, others: Sequence[Row]) -> Row:
    """The cheapest of `others` for the tokens of `row`, as a ratio to the cost of `row`."""
    found = [(ratio, other) for other in others if (ratio := _cost_ratio(row, other)) is not None]
    ratio, other = min(found, key=lambda pair: pair[0], default=(None, {}))
    return {
        "other_gpu": other.get("gpu"),
        "other_cost_ratio": ratio,
        "other_ttft_p95_s": other.get("ttft_p95_s"),
        "other_tpot_p95_s": other.get("tpot_p95_s"),
    }


def _cost_ratio(row: Row, other: Row) -> float | None:
    """What the tokens of `row` would cost at the rates of `other`, over what they cost."""
    prefill, decode = other["_prefill_rate"], other["_decode_rate"]
    if not row["cost"] or prefill is None or decode is None:
        return None
    if row["input_tokens"] is None or row["output_tokens"] is None:
        return None
    return float((row["input_tokens"] * prefill + row["output_tokens"] * decode) / row["cost"])


def _notes(frame: pl.DataFrame, window: Window) -> Iterator[str]:
    yield f"window: {window.text()}"
    yield (
        "other_gpu is the cheapest other type that served the model: other_cost_ratio is the cost "
        "of the same tokens there, phase by phase, at its own batch and load"
    )
    for row in frame.iter_rows(named=True):
        missing = _missing(row)
        if missing is not None:
            yield f"{row['pool']}: not told {missing}"


def _missing(row: Mapping[str, Any]) -> str | None:
    """What it takes to compare a row with another type of GPU."""
    if row["gpu"] is None:
        return NO_GPU
    if row["cost"] is None:
        return NO_PRICE
    if row["other_gpu"] is None:
        return ONE_TYPE.format(model=row["model"] or "a model without name")
    return None


def _verdict(row: Mapping[str, Any]) -> Verdict:
    pool, missing = row["pool"], _missing(row)
    if missing is not None:
        return Verdict(lever=44, pool=pool, applies=None, evidence=None, missing=missing)
    ratio = row["other_cost_ratio"]
    pairs = [(name, row[f"{name}_p95_s"], row[f"other_{name}_p95_s"]) for name in ("ttft", "tpot")]
    slower = [name for name, own, other in pairs if own and other and other > SLOWER_RATIO * own]
    text = (
        f"{row['model']} on {row['other_gpu']} costs {ratio:.0%} of what it costs on {row['gpu']}, "
        f"by measured rates; "
        + ", ".join(
            f"{name.upper()} p95 {other:.3g} s instead of {own:.3g} s"
            for name, own, other in pairs
            if own is not None and other is not None
        )
    )
    applies: bool | None = ratio < CHEAPER_RATIO
    if applies and slower:
        slo = "whether the slower latency still meets its SLO: a replay on the other GPU says so"
        return Verdict(lever=44, pool=pool, applies=None, evidence=text, missing=slo)
    return Verdict(lever=44, pool=pool, applies=applies, evidence=text)
