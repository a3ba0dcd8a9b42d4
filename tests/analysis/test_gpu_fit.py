"""Types of GPU beside each other, as measured: literals worked out by hand."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from analysis.errors import NoDataError, WrongQuestionError
from analysis.gpu_fit import gpu_fit, gpu_fit_verdicts
from analysis.law import law
from analysis.window import Window
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

LedgerOf = Callable[..., Ledger]

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
H100 = Pool(name="h", gpu="H100", price_per_gpu_hour=Decimal("3.6"))
L4 = Pool(name="l", gpu="L4", price_per_gpu_hour=Decimal("0.36"))
CONFIGURATION = Configuration(pools=(H100, L4))


def call(number: int, pool: str, prefill: float, decode: float, **columns: Any) -> dict[str, Any]:
    """Alone on its replica from midnight on, seconds of prefill and decode."""
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "model": "m",
        "pool": pool,
        "replica": f"{pool}{number}",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT,
        "started_at": MIDNIGHT,
        "first_token_at": MIDNIGHT + round(prefill * S),
        "ended_at": MIDNIGHT + round((prefill + decode) * S),
        "uncached_input_tokens": 100,
        "visible_output_tokens": 10,
    } | columns


def row_of(ledger: Ledger, pool: str, configuration: Configuration = CONFIGURATION) -> Any:
    frame = gpu_fit(ledger, configuration).frame
    return frame.filter(frame["pool"] == pool).row(0, named=True)


def test_a_type_is_told_by_what_was_measured_on_it(ledger_of: LedgerOf) -> None:
    row = row_of(ledger_of([call(1, "h", 1, 9)], CONFIGURATION), "h")
    assert [row[name] for name in ("gpu", "call_count", "gpu_seconds", "B", "prefill_ratio")] == [
        "H100", 1, 10, 1, 0.1,
    ]  # fmt: skip
    assert (row["input_tokens_per_prefill_gpu_s"], row["tokens_per_gpu_s"]) == (100, 11)
    assert row["output_tokens_per_decode_gpu_s"] == pytest.approx(10 / 9)
    assert (row["ttft_p95_s"], row["tpot_p95_s"]) == (1, 1)
    assert row["cost"] == Decimal("0.01")
    assert row["cost_per_1k_tokens"] == Decimal("0.090909090909090909")
    assert row["busy_ratio"] == 1


def test_another_type_is_compared_by_the_same_tokens(ledger_of: LedgerOf) -> None:
    # Prefill costs 0.0002 for 200 tokens on the L4, decode 0.0018 for 10.
    calls = [call(1, "h", 1, 9), call(2, "l", 2, 18, uncached_input_tokens=200)]
    ledger = ledger_of(calls, CONFIGURATION)
    dear, cheap = row_of(ledger, "h"), row_of(ledger, "l")
    assert (dear["other_gpu"], cheap["other_gpu"]) == ("L4", "H100")
    assert dear["other_cost_ratio"] == pytest.approx((0.0001 + 0.0018) / 0.01)
    assert cheap["other_cost_ratio"] == pytest.approx((0.002 + 0.009) / 0.002)
    assert (dear["other_ttft_p95_s"], dear["other_tpot_p95_s"]) == (2, 2)


def test_a_cheaper_type_that_is_slower_may_not_do(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, "h", 1, 9), call(2, "l", 2, 18)], CONFIGURATION)
    verdicts = gpu_fit_verdicts(ledger, CONFIGURATION)
    assert verdicts.select("lever", "pool", "applies").rows() == [(44, "h", None), (44, "l", False)]
    assert "m on L4 costs 20% of what it costs on H100" in verdicts["evidence"][0]
    assert "still meets its SLO" in verdicts["missing"][0]


def test_a_cheaper_type_that_is_as_fast_applies(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, "h", 1, 9), call(2, "l", 1, 9)], CONFIGURATION)
    assert gpu_fit_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [True, False]


def test_another_model_is_no_comparison(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, "h", 1, 9), call(2, "l", 1, 9, model="n")], CONFIGURATION)
    answer = gpu_fit(ledger, CONFIGURATION)
    assert answer.frame["other_gpu"].to_list() == [None, None]
    assert any("h: not told what another type of GPU does with m" in n for n in answer.notes)
    assert gpu_fit_verdicts(ledger, CONFIGURATION)["applies"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        (Pool(name="h", price_per_gpu_hour=Decimal(1)), "the type of its GPUs: set gpu"),
        (Pool(name="h", gpu="H100"), "the price of its GPUs: set price_per_gpu_hour"),
    ],
)
def test_what_is_missing_is_said(ledger_of: LedgerOf, pool: Pool, said: str) -> None:
    configuration = Configuration(pools=(pool,))
    ledger = ledger_of([call(1, "h", 1, 9)], configuration)
    assert said in gpu_fit_verdicts(ledger, configuration)["missing"][0]
    row = row_of(ledger, "h", configuration)
    assert (row["gpu_seconds"], row["cost"] is None) == (10, pool.price_per_gpu_hour is None)


def test_calls_priced_by_the_token_have_no_gpu(ledger_of: LedgerOf) -> None:
    rented = call(1, "h", 1, 9) | {"pool": None, "timing_source": "span"}
    ledger = ledger_of([rented], Configuration())
    with pytest.raises(NoDataError, match="no call here is served by a pool"):
        gpu_fit(ledger, Configuration())


def test_it_is_not_asked_by_endpoint(ledger_of: LedgerOf) -> None:
    ledger = ledger_of([call(1, "h", 1, 9)], CONFIGURATION)
    with pytest.raises(WrongQuestionError, match="by pool, model and type of GPU"):
        gpu_fit(ledger, CONFIGURATION, by=("endpoint",))


def test_rows_add_up_to_the_law_whatever_the_window(ledger_of: LedgerOf) -> None:
    # The pool changes its type at noon; a call of it runs across.
    noon = MIDNIGHT + 43_200 * S
    since = datetime.fromtimestamp(noon // S, UTC)
    later = Pool(
        name="h",
        gpu="B200",
        price_per_gpu_hour=Decimal(6),
        effective_from=since,
    )
    configuration = Configuration(pools=(H100, later, L4))
    calls = [
        call(n, pool, 5, 400 + n, arrived_at=at, started_at=at, first_token_at=at + 5 * S,
             ended_at=at + (405 + n) * S, replica=f"{pool}0", model=f"m{n % 2}")
        for n, (pool, at) in enumerate(
            (pool, noon + step * 97 * S) for pool in ("h", "l") for step in range(-9, 9)
        )
    ]  # fmt: skip
    ledger = ledger_of(calls, configuration)
    for window in (Window(), Window(since=noon - 777 * S, until=noon + 333 * S)):
        frame = gpu_fit(ledger, configuration, window=window).frame
        whole = law(ledger, configuration, by=("pool", "model"), window=window).frame
        lines = whole.filter(whole["line"] == "calls")
        assert frame["call_count"].sum() == lines["N"].sum()
        assert frame["output_tokens"].sum() == lines["output_tokens"].sum()
        assert frame["gpu_seconds"].sum() == pytest.approx(lines["gpu_seconds"].sum())
        assert float(frame["cost"].sum()) == pytest.approx(float(lines["cost"].sum()))
        assert set(frame["gpu"]) == {"H100", "B200", "L4"}
