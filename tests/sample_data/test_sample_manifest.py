"""The manifest's totals agree with each other and with figures worked out by hand."""

import tomllib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage, calc_price

from ingest.config import instant_ns, load_configuration
from sample_data import company
from sample_data.sample import sample_configuration_path

pytestmark = pytest.mark.xdist_group("sample")

COUNTS = ("calls", "input_tokens", "output_tokens")
ZONES = ("UTC", "Asia/Tokyo")


@pytest.mark.parametrize("group", ["by_endpoint", "by_team", "by_model"])
def test_groups_add_up_to_the_total(manifest: dict[str, Any], group: str) -> None:
    totals = manifest["totals"]
    for count in COUNTS:
        assert sum(line[count] for line in totals[group].values()) == totals[count]


@pytest.mark.parametrize("zone", ZONES)
def test_months_of_a_zone_add_up_to_the_total(manifest: dict[str, Any], zone: str) -> None:
    for count in COUNTS:
        found = sum(month[count] for month in manifest["months"][zone].values())
        assert found == manifest["totals"][count]


def test_gpu_seconds_are_the_same_sum_in_every_zone(manifest: dict[str, Any]) -> None:
    sums = {
        zone: sum(
            line.get("gpu_seconds", 0.0)
            for month in manifest["months"][zone].values()
            for line in month["by_endpoint"].values()
        )
        for zone in ZONES
    }
    assert sums["UTC"] == pytest.approx(sums["Asia/Tokyo"], rel=1e-12)


def test_token_buckets_are_exclusive(manifest: dict[str, Any]) -> None:
    for line in manifest["totals"]["by_endpoint"].values():
        assert line["uncached_input_tokens"] + line["cache_read_tokens"] == line["input_tokens"]
        assert line["visible_output_tokens"] + line["reasoning_tokens"] == line["output_tokens"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("month", ["2026-09", "2026-10"])
def test_busy_and_idle_are_what_was_provisioned(
    manifest: dict[str, Any], zone: str, month: str
) -> None:
    found = manifest["months"][zone][month]
    busy = sum(pool["busy_gpu_seconds"] for pool in found["pools"].values())
    charged = sum(line.get("gpu_seconds", 0.0) for line in found["by_endpoint"].values())
    assert busy == pytest.approx(charged, rel=1e-12)
    for pool in found["pools"].values():
        assert pool["busy_gpu_seconds"] + pool["idle_gpu_seconds"] == pytest.approx(
            pool["provisioned_gpu_seconds"], rel=1e-12
        )
        assert Decimal(pool["busy_cost"]) + Decimal(pool["idle_cost"]) == Decimal(pool["bill"])


def test_the_bill_is_what_hours_and_prices_give_by_hand(manifest: dict[str, Any]) -> None:
    # chat-h100 is up 1.25 h a weekday; both months have 22. October: 7 days with one replica, 4
    # with two, 11 with two at the higher price. rag-l4: 1 h a day, and 1.25 h more a weekday.
    september_chat = Decimal("22") * Decimal("1.25") * Decimal("2.99")
    october_chat = Decimal("1.25") * (
        7 * Decimal("2.99") + 4 * 2 * Decimal("2.99") + 11 * 2 * Decimal("3.49")
    )
    september_rag, october_rag = (
        (days + 22 * Decimal("1.25")) * 2 * Decimal("0.71") for days in (30, 31)
    )
    months = manifest["months"]["Asia/Tokyo"]
    september, october = september_chat + september_rag, october_chat + october_rag
    assert Decimal(months["2026-09"]["gpu_bill"]) == september == Decimal("163.875")
    assert Decimal(months["2026-10"]["gpu_bill"]) == october == Decimal("235.1075")


def test_about_half_of_the_two_months_bill_is_idle(manifest: dict[str, Any]) -> None:
    months = manifest["months"]["Asia/Tokyo"]
    billed = [months[month] for month in ("2026-09", "2026-10")]
    idle = sum(Decimal(pool["idle_cost"]) for month in billed for pool in month["pools"].values())
    bill = sum(Decimal(month[kind]) for month in billed for kind in ("gpu_bill", "token_cost"))
    assert Decimal("0.35") < idle / bill < Decimal("0.55")


def test_the_letters_of_the_second_month_tell_why_it_cost_more(manifest: dict[str, Any]) -> None:
    before, after = (
        manifest["months"]["Asia/Tokyo"][month]["by_endpoint"] for month in ("2026-09", "2026-10")
    )
    assert after["/summarize"]["calls"] > 2 * before["/summarize"]["calls"]
    assert _mean_output(after["/chat"]) > 1.4 * _mean_output(before["/chat"])
    assert _mean_prefill(after["/rag/answer"]) > 5 * _mean_prefill(before["/rag/answer"])
    for route in ("/chat", "/agent/run", "/summarize"):
        assert _batch(after[route]) < 0.95 * _batch(before[route])
    assert _price(after["/chat"]) > 1.05 * _price(before["/chat"])


def test_deliveries_account_for_every_record(manifest: dict[str, Any]) -> None:
    found = manifest["deliveries"]
    assert found["read"] == found["new"] + found["duplicate"] + found["rejected"]
    assert found["read"] == sum(file["records"] for file in manifest["files"])


def test_the_configuration_says_what_the_generator_used() -> None:
    configuration = load_configuration(sample_configuration_path())
    assert configuration.timezone == company.ZONE
    configured = [
        (pool.name, instant_ns(pool.effective_from), pool.replicas, pool.price_per_gpu_hour)
        for pool in configuration.pools
    ]
    assert configured == [
        (pool.name, stretch.since, stretch.replicas, stretch.price_per_gpu_hour)
        for pool in company.POOLS
        for stretch in pool.stretches
    ]


def test_the_configured_windows_are_those_of_the_generator() -> None:
    raw = tomllib.loads(sample_configuration_path().read_text("utf-8"))
    windows = {
        company.CHAT_HOURS: ["mon-fri 10:00-11:15"],
        company.DIGEST_HOURS + company.RAG_HOURS: [
            "mon-sun 23:45-00:15",
            "mon-sun 08:45-09:15",
            "mon-fri 09:15-10:30",
        ],
    }
    assert [pool["schedule"] for pool in raw["pools"]] == [
        windows[stretch.windows] for pool in company.POOLS for stretch in pool.stretches
    ]


def test_the_catalogue_has_the_api_price_and_not_the_unknown_model() -> None:
    priced = calc_price(
        Usage(input_tokens=1_000_000, cache_read_tokens=400_000, output_tokens=1_000_000),
        model_ref=company.API_MODEL_REPORTED,
        provider_id="openai",
        genai_request_timestamp=datetime(2026, 9, 15, tzinfo=UTC),
    )
    price = company.API_PRICE_PER_TOKEN
    assert priced.total_price == (
        600_000 * price["uncached_input_tokens"]
        + 400_000 * price["cache_read_tokens"]
        + 1_000_000 * price["output_tokens"]
    )
    with pytest.raises(LookupError):
        calc_price(Usage(input_tokens=1), model_ref=company.UNKNOWN_MODEL)


def _mean_output(line: dict[str, Any]) -> float:
    return float(line["output_tokens"] / line["calls"])


def _mean_prefill(line: dict[str, Any]) -> float:
    return float(line["prefill_s"] / line["calls"])


def _batch(line: dict[str, Any]) -> float:
    return float((line["prefill_s"] + line["decode_s"]) / line["gpu_seconds"])


def _price(line: dict[str, Any]) -> float:
    return float(line["gpu_cost"]) / float(line["gpu_seconds"])
