"""What is estimated, and from what: seconds a token where a call's phases were not observed.

Owns the paces and the ledger's record of them. Refuses to change a call: its row keeps only what
was observed, and every estimate is made when charges are.

Estimated are

- the first token of a call of which only start and end are known (`timing_source = 'span'`): its
  residence is split as `uncached input tokens x prefill pace : output tokens x decode pace`, and
  by the shares of prefill and decode where tokens are not known: those of the pool and model,
  else of the pool;
- start, first token and end of a call of which only arrival and token counts are known
  (`tokens`): both phases are laid out from arrival, without a queue. Without counts it has no
  charge;
- the end of a call that has none: laid out likewise, and not before a first token that was
  observed.

A pace is `sum(seconds) / sum(tokens)` over the measured calls of the same pool and model, else of
the pool, else `DEFAULT_PACE`. Sums are of integers, so that the order of calls changes no bit. The
pace is that of a call among others, as it was served: it contains the batching of its time. It is
that of one choice; a call of several decodes them side by side, each at the pace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import pyarrow as pa

from ingest.charging.kernel import NS_PER_S
from ingest.charging.partitions import mark_stale
from ingest.charging.statements import statement
from ingest.ledger import Connection, Ledger

PACES_FACT = "charging_paces"


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long a call of `pool` and `model` takes for a token; `model` None is any model."""

    pool: str
    model: str | None
    prefill_s_per_token: float
    decode_s_per_token: float
    prefill_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPace:
    """Seconds a token where nothing was measured, and the share of prefill in residence."""

    prefill_s_per_token: float
    decode_s_per_token: float
    prefill_ratio: float


DEFAULT_PACE = DefaultPace(
    prefill_s_per_token=79.667 / 257_239,
    decode_s_per_token=6_336.504 / 195_753,
    prefill_ratio=79.667 / (79.667 + 6_336.504),
)
"""0.310 ms an uncached input token, 32.4 ms an output token, 1.24 % of residence in prefill.

Source: the public vLLM 0.19.0 run of Llama-3.1-8B (bfloat16) on one RTX 4090 at ten ShareGPT
requests a second, LLMServingSim `bench/examples/RTX4090/Llama-3.1-8B/vllm`: 300 requests, 79.667 s
from scheduled to first token over 257,239 input tokens, 6,336.504 s from first to last token over
195,753 output tokens. The batch is about 35 calls: on an idle GPU a token is several times faster.
"""


PACE_COLUMNS: dict[str, pa.DataType] = {
    "pool": pa.string(),
    "model": pa.string(),
    "prefill_s_per_token": pa.float64(),
    "decode_s_per_token": pa.float64(),
    "prefill_ratio": pa.float64(),
}


def refresh_paces(ledger: Ledger) -> None:
    """Fit the paces to the calls of the ledger; mark stale what was estimated with another pace.

    Leaves the view `timed_calls` behind, as `time_calls` does.
    """
    connection = ledger.connection
    before, after = stored_paces(connection), _fitted(connection)
    time_calls(connection, after)
    if before != after:
        ledger.set_fact(PACES_FACT, msgspec.json.encode(after).decode())
        _mark_estimated(connection, _pools_that_differ(before, after))
    _mark_laid_out(connection)


def stored_paces(connection: Connection) -> list[Pace]:
    """The paces that the charges of the ledger were made with."""
    found = connection.execute(
        "select value from ledger_facts where name = $name", {"name": PACES_FACT}
    ).fetchall()
    return msgspec.json.decode(found[0][0], type=list[Pace]) if found else []


def time_calls(connection: Connection, paces: Sequence[Pace]) -> None:
    """Define the temporary view `timed_calls`: each call's time in service, estimates included."""
    rows = [msgspec.structs.asdict(pace) for pace in paces]
    connection.register("paces", pa.Table.from_pylist(rows, schema=pa.schema(PACE_COLUMNS)))
    connection.execute(statement("charged_cohorts"), asdict(DEFAULT_PACE))
    connection.unregister("paces")
    connection.execute(statement("timed_calls"))


def _fitted(connection: Connection) -> list[Pace]:
    measured = connection.sql(statement("paces_fit")).to_arrow_table().to_pylist()
    return [_pace(row) for row in measured if row["is_pool"] or row["model"] is not None]


def _pace(sums: Mapping[str, Any]) -> Pace:
    """The pace of the calls that `sums` adds up; `decode_tokens` is never 0 in it."""
    prefill_s, decode_s = sums["prefill_ns"] / NS_PER_S, sums["decode_ns"] / NS_PER_S
    has_prefill, residence_s = sums["prefill_tokens"] > 0, prefill_s + decode_s
    return Pace(
        pool=sums["pool"],
        model=None if sums["is_pool"] else sums["model"],
        prefill_s_per_token=(
            prefill_s / sums["prefill_tokens"] if has_prefill else DEFAULT_PACE.prefill_s_per_token
        ),
        decode_s_per_token=decode_s / sums["decode_tokens"],
        prefill_ratio=prefill_s / residence_s if residence_s else DEFAULT_PACE.prefill_ratio,
    )


def _pools_that_differ(before: Sequence[Pace], after: Sequence[Pace]) -> set[str]:
    return {pace.pool for pace in set(before) ^ set(after)}


def _mark_estimated(connection: Connection, pools: set[str]) -> None:
    connection.register("moved_pools", pa.table({"pool": pa.array(sorted(pools), pa.string())}))
    connection.execute(statement("estimated_mark"))
    connection.unregister("moved_pools")
    mark_stale(connection, "estimated_calls")
    connection.execute("drop table estimated_calls")


def _mark_laid_out(connection: Connection) -> None:
    connection.execute(statement("laid_out_mark"))
    mark_stale(connection, "laid_out_calls")
    connection.execute("drop table laid_out_calls")
