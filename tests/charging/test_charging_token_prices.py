"""Calls priced by the token: exclusive buckets, dates, names, currencies, what stays unknown."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from ingest.charging.catalogue import SOURCE, find_entry
from ingest.config import Configuration, ExchangeRate, Pool, TokenPrice

NOV_14 = "2026-11-14T23:59:59"
NOV_15 = "2026-11-15T00:00:00"
LIST = TokenPrice(
    model="my-model",
    input_per_mtok=Decimal(3),
    cache_read_per_mtok=Decimal("0.30"),
    cache_write_per_mtok=Decimal("3.75"),
    output_per_mtok=Decimal(15),
)


@pytest.fixture
def rented(call: Any, at: Callable[[str], int]) -> Callable[..., Any]:
    """A call of a model that runs elsewhere: times as a client sees them, no pool."""

    def make(call_id: str = "x", when: str = NOV_15, **more: Any) -> Any:
        start = at(when)
        times = {"arrived_at": start, "started_at": start, "ended_at": start + 5_000_000_000}
        fixed = {"model": "my-model", "timing_source": "span", "replica": None}
        return call(call_id=call_id, **(times | fixed | more))

    return make


def costs(calls: Any) -> dict[str, tuple[Decimal, str, str, str]]:
    found = calls.rows(
        """
        select r.call_id, t.token_cost, t.currency, t.price_source, t.price_rule
        from token_charges as t inner join call_rows as r on t.call_no = r.call_no
        """
    )
    return {call_id: tuple(rest) for call_id, *rest in found}


def cost(calls: Any, call_id: str = "x") -> Decimal | None:
    found = costs(calls).get(call_id)
    return None if found is None else found[0]


def tokens(uncached: int | None, output: int | None, **more: int) -> dict[str, int | None]:
    return {"uncached_input_tokens": uncached, "visible_output_tokens": output, **more}


def test_the_cached_part_of_the_input_is_billed_once_at_its_own_price(
    calls: Any, rented: Any
) -> None:
    calls.deliver(rented(**tokens(1_000, 100, cache_read_tokens=9_000)))
    calls.charge(Configuration(token_prices=(LIST,)))
    assert cost(calls) == Decimal("0.0072")


def test_exclusive_counters_bill_the_nineteen_tokens_that_were_not_cached(
    calls: Any, rented: Any
) -> None:
    calls.deliver(rented(**tokens(19, 50, cache_read_tokens=39_000)))
    calls.charge(Configuration(token_prices=(LIST,)))
    assert cost(calls) == Decimal("0.012507")


def test_reasoning_is_output_and_written_cache_has_its_price(calls: Any, rented: Any) -> None:
    calls.deliver(rented(**tokens(100, 200, reasoning_tokens=600, cache_write_tokens=400)))
    calls.charge(Configuration(token_prices=(LIST,)))
    # 100 x 3 + 400 x 3.75 + 800 x 15, per million
    assert cost(calls) == Decimal("0.0138")


def test_a_bucket_without_a_price_of_its_own_costs_what_other_input_costs(
    calls: Any, rented: Any
) -> None:
    plain = TokenPrice(model="my-model", input_per_mtok=Decimal(3), output_per_mtok=Decimal(15))
    calls.deliver(rented(**tokens(1_000, 0, cache_read_tokens=1_000, cache_write_tokens=1_000)))
    calls.charge(Configuration(token_prices=(plain,)))
    assert cost(calls) == Decimal("0.009")


def test_an_unknown_model_has_no_price_and_the_others_keep_theirs(calls: Any, rented: Any) -> None:
    calls.deliver(
        rented("priced", **tokens(10_000, 4_000)),
        rented("unknown", model="new-model-x", **tokens(10_000, 4_000)),
    )
    calls.charge(Configuration(token_prices=(LIST,)))
    assert {name: row[0] for name, row in costs(calls).items()} == {"priced": Decimal("0.09")}


@pytest.mark.parametrize(
    ("uncached", "output"), [(None, 100), (100, None), (None, None), (10**15, 100)], ids=str
)
def test_unknown_or_impossible_counts_are_no_free_tokens(
    calls: Any, rented: Any, uncached: int | None, output: int | None
) -> None:
    calls.deliver(rented(**tokens(uncached, output)))
    calls.charge(Configuration(token_prices=(LIST,)))
    assert costs(calls) == {}


def test_a_call_that_was_turned_away_costs_nothing(calls: Any, rented: Any) -> None:
    calls.deliver(rented(http_status=429, **tokens(None, None)))
    calls.charge(Configuration(token_prices=(LIST,)))
    assert cost(calls) == Decimal(0)


def test_a_refused_call_of_a_model_without_a_price_is_unpriced(calls: Any, rented: Any) -> None:
    calls.deliver(
        rented("refused", model="nope", http_status=404, **tokens(None, None)),
        rented("empty", model="nope", **tokens(0, 0)),
    )
    calls.charge()
    assert costs(calls) == {}


@pytest.mark.parametrize(
    ("provider", "name", "rule"),
    [
        ("openai", "gpt-4.1", "openai/gpt-4.1: exact name"),
        ("openai", "gpt-4", "openai/gpt-4: exact name"),
        ("openai", "GPT-4.1-2025-04-14", "openai/gpt-4.1: exact name"),
        ("openai", "gpt-4.1@20260101", "openai/gpt-4.1: date stripped"),
        ("openai", "gpt-4.1-preview-of-mine", None),
        ("openai", "gpt-4.9", None),
        (
            "anthropic",
            "claude-sonnet-4-5[1m]",
            "anthropic/claude-sonnet-4-5: context size stripped",
        ),
        (
            "anthropic",
            "claude-sonnet-4-5-20250929",
            "anthropic/claude-sonnet-4-5: date stripped",
        ),
        (
            "aws.bedrock",
            "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0: version stripped",
        ),
        ("azure.ai.openai", "gpt-4o-2024-08-06", "openai/gpt-4o: exact name"),
        (None, "gpt-4o-mini", "openai/gpt-4o-mini: exact name"),
        (None, "openai/gpt-4o-mini", "openai/gpt-4o-mini: exact name"),
        (
            None,
            "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0: version stripped",
        ),
        (
            "aws.bedrock",
            "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0: version stripped",
        ),
        ("perplexity", "perplexity/sonar", "perplexity/perplexity/sonar: exact name"),
        ("perplexity", "sonar", "perplexity/sonar: exact name"),
        (None, "perplexity/glm-5.3", "perplexity/perplexity/glm-5.3: exact name"),
        ("perplexity", "perplexity/sonar-pro", "perplexity/sonar-pro: exact name"),
        (None, "hosted_vllm/llama-70b", None),
        ("hosted_vllm", "gpt-4o", None),
        ("openai", "deepseek-v3", None),
    ],
)
def test_a_name_matches_whole_or_stripped_of_what_says_no_other_model(
    provider: str | None, name: str, rule: str | None
) -> None:
    entry = find_entry(provider, name)
    assert (None if entry is None else entry.rule) == rule


def test_the_model_that_answered_sets_the_price_of_a_deployment(calls: Any, rented: Any) -> None:
    calls.deliver(
        rented(
            "answered",
            provider="azure.ai.openai",
            model="gpt-4o-2024-08-06",
            model_requested="prod-chat-eu",
            **tokens(1_000_000, 0),
        ),
        rented(
            "silent",
            provider="azure.ai.openai",
            model=None,
            model_requested="gpt-4o",
            **tokens(1_000_000, 0),
        ),
    )
    calls.deliver(
        rented(
            "echoed",
            provider="azure.ai.openai",
            model="gpt-4o",
            model_requested="gpt-4o",
            **tokens(1_000_000, 0),
        ),
    )
    calls.charge()
    assert costs(calls) == {
        "answered": (Decimal("2.5"), "USD", SOURCE, "openai/gpt-4o: exact name")
    }


def test_the_price_of_a_name_with_its_route_is_that_of_the_whole_name(
    calls: Any, rented: Any
) -> None:
    # 800,000 at 0.25, 200,000 written at the same, 5,000 out at 2.50, per million.
    million = tokens(800_000, 5_000, cache_write_tokens=200_000)
    calls.deliver(rented(provider="perplexity", model="perplexity/sonar", **million))
    calls.deliver(rented("y", model="perplexity/glm-5.3", **tokens(150_000, 0)))
    calls.charge()
    assert (cost(calls), cost(calls, "y")) == (Decimal("0.2625"), Decimal("0.21"))


def test_a_name_that_is_not_azures_is_priced_by_what_was_asked_for(calls: Any, rented: Any) -> None:
    nova = {"model": "amazon.nova-lite-v1:0", "model_requested": "amazon.nova-lite-v1:0"}
    calls.deliver(rented(provider="amazon", **nova, **tokens(1_000_000, 0)))
    calls.charge()
    assert cost(calls) == Decimal("0.06")


def test_a_deployment_of_unknown_model_is_priced_by_the_users_table(
    calls: Any, rented: Any
) -> None:
    mine = TokenPrice(model="prod-chat-eu", input_per_mtok=Decimal(2), output_per_mtok=Decimal(8))
    calls.deliver(rented(model=None, model_requested="prod-chat-eu", **tokens(1_000_000, 0)))
    calls.charge(Configuration(token_prices=(mine,)))
    assert cost(calls) == Decimal(2)


def test_one_model_has_another_price_at_another_provider(calls: Any, rented: Any) -> None:
    def grok(provider: str, input_price: int, output_price: int) -> TokenPrice:
        return TokenPrice(
            model="grok-3",
            provider=provider,
            input_per_mtok=Decimal(input_price),
            output_per_mtok=Decimal(output_price),
        )

    for provider in ("a", "a-fast"):
        one_each = tokens(1_000_000, 1_000_000)
        calls.deliver(rented(provider, provider=provider, model="grok-3", **one_each))
    calls.charge(Configuration(token_prices=(grok("a", 3, 15), grok("a-fast", 5, 25))))
    assert (cost(calls, "a"), cost(calls, "a-fast")) == (Decimal(18), Decimal(30))


def test_the_senders_cost_wins_over_the_catalogue_and_not_over_the_configuration(
    calls: Any, rented: Any
) -> None:
    reported = {"reported_cost": Decimal("0.0042"), **tokens(1_000, 100)}
    calls.deliver(
        rented("listed", provider="x-ai", model="grok-3", **reported),
        rented("unlisted", model="no-such-model", **reported),
        rented("overridden", **reported),
    )
    calls.charge(Configuration(token_prices=(LIST,)))
    found = {name: (row[0], row[2]) for name, row in costs(calls).items()}
    assert found == {
        "listed": (Decimal("0.0042"), "reported"),
        "unlisted": (Decimal("0.0042"), "reported"),
        "overridden": (Decimal("0.0045"), "configuration"),
    }
    both = calls.rows(
        "select r.call_id, t.listed_cost, t.listed_currency "
        "from token_charges as t inner join call_rows as r on t.call_no = r.call_no"
    )
    assert {name: tuple(listed) for name, *listed in both} == {
        "listed": (Decimal("0.0045"), "USD"),
        "unlisted": (None, None),
        "overridden": (Decimal("0.0045"), "USD"),
    }


def test_each_call_is_priced_at_its_own_instant(calls: Any, rented: Any) -> None:
    cheaper = TokenPrice(
        model="my-model",
        input_per_mtok=Decimal(2),
        output_per_mtok=Decimal(15),
        effective_from=datetime(2026, 11, 15, tzinfo=UTC),
    )
    calls.deliver(
        rented("before", NOV_14, **tokens(1_000_000, 0)),
        rented("after", NOV_15, **tokens(1_000_000, 0)),
    )
    calls.charge(Configuration(token_prices=(LIST, cheaper)))
    assert (cost(calls, "before"), cost(calls, "after")) == (Decimal(3), Decimal(2))


def test_before_its_first_date_a_configured_price_leaves_the_catalogues(
    calls: Any, rented: Any
) -> None:
    own = TokenPrice(
        model="gpt-4o",
        input_per_mtok=Decimal(1),
        output_per_mtok=Decimal(1),
        effective_from=datetime(2026, 11, 15, tzinfo=UTC),
    )
    for name, when in (("before", NOV_14), ("after", NOV_15)):
        calls.deliver(rented(name, when, provider="openai", model="gpt-4o", **tokens(1_000_000, 0)))
    calls.charge(Configuration(token_prices=(own,)))
    assert (cost(calls, "before"), cost(calls, "after")) == (Decimal("2.5"), Decimal(1))


def test_a_price_once_given_stays_until_the_configuration_changes(
    calls: Any, rented: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = {"provider": "openai", "model": "gpt-4o"}
    calls.deliver(rented("early", **openai, **tokens(1_000_000, 0)))
    calls.charge()
    monkeypatch.setattr("ingest.charging.catalogue.SOURCE", "genai-prices 99")
    calls.deliver(rented("late", **openai, **tokens(1_000_000, 0)))
    calls.charge()
    assert {name: row[2] for name, row in costs(calls).items()} == {
        "early": SOURCE,
        "late": "genai-prices 99",
    }
    calls.charge(Configuration(token_prices=(LIST,)))
    assert {row[2] for row in costs(calls).values()} == {"genai-prices 99"}


def test_the_catalogues_tier_follows_all_input_tokens_of_the_call(calls: Any, rented: Any) -> None:
    gemini = {"provider": "gcp.gemini", "model": "gemini-2.5-pro"}
    calls.deliver(
        rented("small", **gemini, **tokens(200_000, 0)),
        rented("large", **gemini, **tokens(200_001, 0)),
    )
    calls.charge()
    # 1.25 a million up to 200,000 tokens, 2.50 for all of them above
    assert cost(calls, "small") == Decimal("0.25")
    assert cost(calls, "large") == Decimal("0.5000025")


def test_embeddings_need_no_output_count(calls: Any, rented: Any) -> None:
    small = {"provider": "openai", "model": "text-embedding-3-small"}
    calls.deliver(rented(**small, **tokens(1_000_000, None)))
    calls.charge()
    assert cost(calls) == Decimal("0.02")


def test_dollars_stay_dollars_without_a_rate(calls: Any, rented: Any) -> None:
    calls.deliver(rented(provider="openai", model="gpt-4o", **tokens(1_000_000, 0)))
    calls.charge(Configuration(currency="EUR"))
    assert costs(calls)["x"][:2] == (Decimal("2.5"), "USD")


def test_a_dated_rate_converts_and_says_so(calls: Any, rented: Any) -> None:
    rates = (
        ExchangeRate(
            source="USD",
            target="EUR",
            rate=Decimal("0.9"),
            effective_from=datetime(2026, 1, 1, tzinfo=UTC),
        ),
        ExchangeRate(
            source="USD",
            target="EUR",
            rate=Decimal("0.8"),
            effective_from=datetime(2026, 11, 15, tzinfo=UTC),
        ),
    )
    gpt = {"provider": "openai", "model": "gpt-4o"}
    calls.deliver(
        rented("before", NOV_14, **gpt, **tokens(1_000_000, 0)),
        rented("after", NOV_15, **gpt, **tokens(1_000_000, 0)),
    )
    calls.charge(Configuration(currency="EUR", exchange_rates=rates))
    rule = "openai/gpt-4o: exact name; 1 USD = "
    assert costs(calls) == {
        "before": (Decimal("2.25"), "EUR", SOURCE, rule + "0.9 EUR since 2026-01-01"),
        "after": (Decimal("2.00"), "EUR", SOURCE, rule + "0.8 EUR since 2026-11-15"),
    }


def test_a_self_hosted_model_is_charged_by_its_gpus_and_not_by_a_vendors_list(
    calls: Any, rented: Any
) -> None:
    hosted = {"provider": "openai", "model": "gpt-4o", "timing_source": "engine"}
    calls.deliver(rented(**hosted, first_token_at=None, **tokens(1_000_000, 0)))
    calls.charge(Configuration(pools=(Pool(name="own", models=("gpt-4o",)),)))
    assert costs(calls) == {}
    assert calls.gpu_seconds() == {"x": (5.0, 0.0)}


def test_a_model_that_gets_a_pool_loses_its_price_by_the_token(calls: Any, rented: Any) -> None:
    calls.deliver(rented(**tokens(1_000, 100)))
    calls.charge(Configuration(token_prices=(LIST,)))
    assert len(costs(calls)) == 1
    calls.charge(Configuration(token_prices=(LIST,), pools=(Pool(name="p", models=("my-model",)),)))
    assert costs(calls) == {}
    assert sum(calls.gpu_seconds()["x"]) == pytest.approx(5.0)
    calls.charge(Configuration(token_prices=(LIST,)))
    assert len(costs(calls)) == 1
    assert calls.gpu_seconds() == {}


def test_a_withdrawn_call_leaves_no_cost(calls: Any, rented: Any) -> None:
    calls.deliver(rented("x", **tokens(1_000, 100)), rented("y", **tokens(1_000, 100)))
    calls.charge(Configuration(token_prices=(LIST,)))
    calls.withdraw("y")
    calls.charge(Configuration(token_prices=(LIST,)))
    assert calls.rows("select count(*) from token_charges") == [(1,)]
