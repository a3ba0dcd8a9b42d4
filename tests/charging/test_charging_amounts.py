"""Amounts of the configuration file: what the ledger can keep exactly, and what is refused."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ingest.config import load_configuration
from ingest.errors import ConfigurationError

POOL = '[[pools]]\nname = "a"\nprice_per_gpu_hour = {}\n'
TOKENS = '[[token_prices]]\nmodel = "m"\ninput_per_mtok = "1"\noutput_per_mtok = {}\n'
BUDGET = '[[budgets]]\nscope = {{ team = "x" }}\nmonth = "2026-10"\namount = {}\n'
RATE = (
    '[[exchange_rates]]\nsource = "USD"\ntarget = "EUR"\nfrom = 2026-01-01T00:00:00Z\nrate = {}\n'
)


@pytest.mark.parametrize(
    ("text", "value", "key"),
    [
        (POOL, '"3.12345678912"', "pools[0].price_per_gpu_hour"),
        (POOL, "3.12345678912", "pools[0].price_per_gpu_hour"),
        (POOL, '"1000000000"', "pools[0].price_per_gpu_hour"),
        (POOL, '"1e40"', "pools[0].price_per_gpu_hour"),
        (POOL, '"nan"', "pools[0].price_per_gpu_hour"),
        (POOL, '"-1"', "pools[0].price_per_gpu_hour"),
        (TOKENS, '"0.0000000001"', "token_prices[0].output_per_mtok"),
        (BUDGET, '"12000.005"', "budgets[0].amount"),
        (RATE, '"0.12345678901234567890123456789012345"', "exchange_rates[0].rate"),
    ],
)
def test_an_amount_that_the_ledger_cannot_keep_is_refused_by_its_key(
    tmp_path: Path, text: str, value: str, key: str
) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text(text.format(value), "utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(f"{path}: {key} is ")):
        load_configuration(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (POOL, "999999999.123456789"),
        (POOL, "3.1000000000000"),
        (TOKENS, "999999999.123456789"),
        (BUDGET, "9999999999999999.99"),
        (RATE, "0.000000001"),
    ],
)
def test_an_amount_of_eighteen_digits_is_charged_with(
    calls: Any, tmp_path: Path, text: str, value: str
) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text(text.format(f'"{value}"'), "utf-8")
    calls.charge(load_configuration(path))
    kept = calls.rows("select price_per_gpu_hour from pools union all select amount from budgets")
    assert all(amount == Decimal(value) for (amount,) in kept)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "gpus_per_replica = 20000",
            "gpus_per_replica is 20,000; a replica has at most 10,000 GPUs",
        ),
        ("gpus_per_replica = 10000.5", "gpus_per_replica is 10,000.5; a replica has at most"),
        (
            'gpus_per_replica = 1000\nprice_per_gpu_hour = "999999999"',
            "costs 999,999,999,000 an hour for each replica; at most 100,000,000,000",
        ),
    ],
)
def test_a_replica_too_large_to_be_added_up_is_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text(f'[[pools]]\nname = "a"\n{text}\n', "utf-8")
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        load_configuration(path)


def test_the_largest_replica_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text('[[pools]]\nname = "a"\ngpus_per_replica = 10000\n', "utf-8")
    assert load_configuration(path).pools[0].gpus_per_replica == 10_000
