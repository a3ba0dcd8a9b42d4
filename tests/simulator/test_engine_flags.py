"""Engine flags as a user writes them."""

import pytest

from simulator.engines.flags import Choice, FlagSpec, Whole, parse_flags, resolve_flags
from simulator.errors import WrongFlagError

SPECS = {
    "prefix_cache": FlagSpec(default="on", kind=Choice(("on", "off"))),
    "slots": FlagSpec(default="1", kind=Whole(1, 64)),
    "context_tokens": FlagSpec(default="2048", kind=Whole(256, 8192, step=256)),
}


def test_flags_are_pairs_separated_by_commas() -> None:
    assert parse_flags("prefix_cache=off, slots=4") == {"prefix_cache": "off", "slots": "4"}
    assert parse_flags("") == {}


@pytest.mark.parametrize("text", ["slots", "slots=", "=4"])
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(WrongFlagError, match="write name=value"):
        parse_flags(text)


def test_a_flag_given_twice_is_refused() -> None:
    with pytest.raises(WrongFlagError, match="'slots' is given twice"):
        parse_flags("slots=1,slots=2")


def test_flags_that_are_not_given_have_their_defaults() -> None:
    resolved = resolve_flags("e", SPECS, {"slots": "4"})
    assert resolved == {"prefix_cache": "on", "slots": "4", "context_tokens": "2048"}


def test_an_unknown_flag_names_the_nearest_one() -> None:
    with pytest.raises(WrongFlagError, match="did you mean 'prefix_cache'"):
        resolve_flags("e", SPECS, {"prefix-cache": "on"})


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("prefix_cache", "yes", "on or off"),
        ("slots", "0", "a whole number from 1 to 64"),
        ("slots", "two", "a whole number from 1 to 64"),
        ("slots", "-1", "a whole number from 1 to 64"),
        ("context_tokens", "300", "in steps of 256"),
    ],
)
def test_a_value_that_a_flag_cannot_take_is_refused(name: str, value: str, allowed: str) -> None:
    with pytest.raises(WrongFlagError, match=allowed):
        resolve_flags("e", SPECS, {name: value})
