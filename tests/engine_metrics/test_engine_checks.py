"""`check` says where calls and engines disagree, with both figures, and judges no rare sample."""

from collections.abc import Callable, Sequence
from typing import Any

from analysis.check import check
from analysis.engine_checks import BATCH, TOKENS
from ingest.config import Configuration, Pool
from ingest.ledger import Ledger

S = 10**9
BEGIN = 1_790_841_600 * S
CHAT = Configuration(pools=(Pool(name="chat", models=("llama",), replicas=1),))


def calls(count: int, together: int) -> list[dict[str, Any]]:
    """`together` calls at once, each of ten seconds, one after the other."""
    return [
        {
            "call_id": f"{number}-{lane}",
            "model": "llama",
            "timing_source": "engine",
            "arrived_at": BEGIN + number * 10 * S,
            "started_at": BEGIN + number * 10 * S,
            "first_token_at": BEGIN + (number * 10 + 1) * S,
            "ended_at": BEGIN + (number + 1) * 10 * S,
            "uncached_input_tokens": 100,
            "visible_output_tokens": 50,
        }
        for number in range(count)
        for lane in range(together)
    ]


def scrapes(count: int, running: int) -> dict[float, Sequence[str]]:
    """A scrape every ten seconds, each of `running` calls but the last; 200 tokens in a time."""
    return {
        n * 10.0: [
            f'vllm:num_requests_running{{model_name="llama"}} {running if n < count else 0}',
            f'vllm:prompt_tokens_total{{model_name="llama"}} {n * 200}',
            f'vllm:generation_tokens_total{{model_name="llama"}} {n * 100}',
        ]
        for n in range(count + 1)
    }


def found(ledger: Ledger) -> dict[str, tuple[str, str]]:
    rows = check(ledger, CHAT).frame.rows()
    return {name: (result, evidence) for name, result, evidence in rows}


def test_calls_that_are_as_many_as_the_engine_ran_are_right(
    ledger_of: Callable[..., Ledger], text_of: Callable[..., str]
) -> None:
    ledger = ledger_of(calls(60, 2), [text_of(scrapes(60, 2), BEGIN)], CHAT)
    result, evidence = found(ledger)[BATCH]
    assert result == "ok"
    assert evidence.startswith("chat: 2.00 by calls, 2.00 by 60 counts of the engine (+0%)")
    assert found(ledger)[TOKENS] == (
        "told",
        "chat: input 12,000 of 12,000 (100.0%), output 6,000 of 6,000 (100.0%)",
    )


def test_calls_of_which_half_are_missing_are_found_with_both_figures(
    ledger_of: Callable[..., Ledger], text_of: Callable[..., str]
) -> None:
    ledger = ledger_of(calls(60, 1), [text_of(scrapes(60, 2), BEGIN)], CHAT)
    result, evidence = found(ledger)[BATCH]
    assert result == "failed"
    assert evidence == (
        "chat: 1.00 by calls, 2.00 by 60 counts of the engine (-50%); at most 20% apart is held "
        "for the same"
    )
    assert found(ledger)[TOKENS][1] == (
        "chat: input 6,000 of 12,000 (50.0%), output 3,000 of 6,000 (50.0%)"
    )


def test_an_engine_that_was_seldom_seen_busy_is_not_judged(
    ledger_of: Callable[..., Ledger], text_of: Callable[..., str]
) -> None:
    ledger = ledger_of(calls(59, 1), [text_of(scrapes(59, 2), BEGIN)], CHAT)
    assert found(ledger)[BATCH] == (
        "told",
        "1 engine, 1 with calls beside; none of these seen busy 60 times",
    )


def test_a_ledger_without_metrics_says_so(ledger_of: Callable[..., Ledger]) -> None:
    checks = found(ledger_of(calls(1, 1), [], CHAT))
    assert checks[BATCH] == ("told", "no metrics of an engine")
    assert checks[TOKENS] == ("told", "no engine that counts tokens has calls beside")
