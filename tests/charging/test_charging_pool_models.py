"""Which pool a model is in at what time, from the entries of a configuration file."""

from pathlib import Path

import pytest

from ingest.charging.eras import ModelEra, model_eras
from ingest.config import Configuration, load_configuration
from ingest.errors import ConfigurationError

DAY = 86_400_000_000_000
OCTOBER = 20_727  # days since 1970 of 2026-10-01
NOVEMBER = OCTOBER + 31
DECEMBER = NOVEMBER + 30

A = ("a", 0, None)


def entry(name: str, models: str | None, since: str | None = None) -> str:
    """One entry of pool `name`, from a day of 2026 such as "10-01" on; None leaves a key out."""
    listed = "" if models is None else f"models = [{models}]\n"
    begin = "" if since is None else f"from = 2026-{since}T00:00:00Z\n"
    return f'[[pools]]\nname = "{name}"\n{listed}{begin}'


def loaded(tmp_path: Path, *entries: str) -> Configuration:
    path = tmp_path / "gpuledger.toml"
    path.write_text("".join(entries), "utf-8")
    return load_configuration(path)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([entry("a", '"m"')], [A]),
        ([entry("a", '"m"', "10-01")], [A]),
        ([entry("a", '"m"', "10-01"), entry("a", '"m", "n"', "11-01")], [A]),
        ([entry("a", '"m"', "10-01"), entry("a", None, "11-01")], [A]),
        (
            [entry("a", '"m"', "10-01"), entry("a", "", "11-01")],
            [("a", 0, NOVEMBER), (None, NOVEMBER, None)],
        ),
        (
            [entry("a", "", "10-01"), entry("a", '"m"', "11-01")],
            [(None, 0, NOVEMBER), ("a", NOVEMBER, None)],
        ),
        (
            [entry("a", None, "10-01"), entry("a", '"m"', "11-01")],
            [(None, 0, NOVEMBER), ("a", NOVEMBER, None)],
        ),
        (
            [entry("a", '"m"', "10-01"), entry("a", "", "11-01"), entry("b", '"m"', "11-01")],
            [("a", 0, NOVEMBER), ("b", NOVEMBER, None)],
        ),
        (
            [entry("b", '"m"', "11-01"), entry("a", '"m"')],
            [("a", 0, NOVEMBER), ("b", NOVEMBER, None)],
        ),
        (
            [entry("a", '"m"'), entry("a", '"n"', "11-01"), entry("b", '"m"', "12-01")],
            [("a", 0, NOVEMBER), (None, NOVEMBER, DECEMBER), ("b", DECEMBER, None)],
        ),
        (
            [entry("a", '"m"'), entry("b", '"m"', "11-01"), entry("a", '"m"', "12-01")],
            [("a", 0, NOVEMBER), ("b", NOVEMBER, DECEMBER), ("a", DECEMBER, None)],
        ),
        (
            [entry("a", '"m"'), entry("b", '"m"', "11-01"), entry("a", None, "12-01")],
            [("a", 0, NOVEMBER), ("b", NOVEMBER, None)],
        ),
        (
            [entry("a", '"m"'), entry("b", '"m"', "11-01"), entry("b", "", "12-01")],
            [("a", 0, NOVEMBER), ("b", NOVEMBER, DECEMBER), ("a", DECEMBER, None)],
        ),
    ],
    ids=[
        "since ever",
        "a first entry tells what was before",
        "listed again",
        "another size alone",
        "given up",
        "taken up later",
        "first named later",
        "handed over",
        "taken over, the later first in the file",
        "a gap",
        "taken back by a later list",
        "not taken back by another size",
        "given back",
    ],
)
def test_a_model_is_in_the_pool_that_listed_it_last(
    tmp_path: Path, entries: list[str], expected: list[tuple[str | None, int, int | None]]
) -> None:
    found = model_eras(loaded(tmp_path, *entries).pools)
    assert [era for era in found if era.model == "m"] == [
        ModelEra(model="m", pool=pool, since=day * DAY, until=None if end is None else end * DAY)
        for pool, day, end in expected
    ]


@pytest.mark.parametrize("since", [None, "10-01"])
def test_two_pools_that_list_a_model_from_one_instant_on_are_refused(
    tmp_path: Path, since: str | None
) -> None:
    begin = "since ever" if since is None else r"from 2026-10-01 00:00:00\+00:00"
    with pytest.raises(
        ConfigurationError,
        match=f"pools 'b' and 'a' both list the model 'm' {begin}; .*later 'from'",
    ):
        loaded(tmp_path, entry("b", '"n", "m"', since), entry("a", '"m"', since))


def test_two_pools_from_one_instant_on_may_list_other_models(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, entry("a", '"m"'), entry("b", '"n"'), entry("c", None))
    assert [(era.model, era.pool) for era in model_eras(configuration.pools)] == [
        ("m", "a"),
        ("n", "b"),
    ]


def test_two_entries_of_a_pool_that_hold_since_ever_are_refused(tmp_path: Path) -> None:
    ever = '[[pools]]\nname = "a"\nfrom = 1969-12-31T00:00:00Z\n'
    with pytest.raises(ConfigurationError, match="'a' has two entries from the same instant"):
        loaded(tmp_path, entry("a", '"m"'), ever)
