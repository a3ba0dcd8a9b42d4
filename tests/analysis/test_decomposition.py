"""LMDI-I: effects by letter, worked vectors and limits."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.decomposition import LawLetters, law_effects, logmean, product_effects

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "lmdi.json"

POSITIVE = st.floats(min_value=1e-6, max_value=1e6)
LETTERS = st.builds(
    LawLetters, p=POSITIVE, N=POSITIVE, Tp=POSITIVE, L=POSITIVE, Td=POSITIVE, B=POSITIVE
)
ORDINARY = LawLetters(p=2, N=100, Tp=0.2, L=100, Td=0.01, B=4)


def cost(letters: LawLetters) -> float:
    return letters.p * letters.N * (letters.Tp + letters.L * letters.Td) / letters.B


@pytest.mark.shared
@pytest.mark.skipif(not GOLDEN.exists(), reason="the public vectors are not beside this checkout")
def test_effects_are_those_of_the_vectors() -> None:
    for case in json.loads(GOLDEN.read_text("utf-8")):
        found = law_effects(LawLetters(**case["before"]), LawLetters(**case["after"]))
        for letter, effect in case["effect"].items():
            assert found[letter] == pytest.approx(effect, rel=1e-9, abs=1e-9), letter
        assert sum(found.values()) == pytest.approx(case["change"], rel=1e-9)


@given(before=LETTERS, after=LETTERS)
@settings(deadline=None)
def test_effects_add_up_to_the_change(before: LawLetters, after: LawLetters) -> None:
    effects = law_effects(before, after)
    scale = cost(before) + cost(after)
    assert sum(effects.values()) == pytest.approx(cost(after) - cost(before), abs=1e-9 * scale)


@given(before=LETTERS, after=LETTERS)
@settings(deadline=None)
def test_going_back_takes_back_every_effect(before: LawLetters, after: LawLetters) -> None:
    there, back = law_effects(before, after), law_effects(after, before)
    scale = cost(before) + cost(after)
    for letter, effect in there.items():
        assert effect == pytest.approx(-back[letter], abs=1e-9 * scale)


def test_doubling_the_batch_saves_half_and_nothing_else_moves() -> None:
    after = LawLetters(p=2, N=100, Tp=0.2, L=100, Td=0.01, B=8)
    assert law_effects(ORDINARY, after) == pytest.approx(
        {"p": 0, "N": 0, "Tp": 0, "L": 0, "Td": 0, "B": -30}
    )


def test_output_that_begins_takes_the_whole_cost_of_decode() -> None:
    # Before, calls have no output: 2 * 100 * 0.2 / 4 = 10. After: 60.
    before = LawLetters(p=2, N=100, Tp=0.2, L=0, Td=0.01, B=4)
    assert law_effects(before, ORDINARY) == pytest.approx(
        {"p": 0, "N": 0, "Tp": 0, "L": 50, "Td": 0, "B": 0}
    )


def test_a_price_that_falls_to_nothing_takes_the_whole_cost() -> None:
    after = LawLetters(p=0, N=300, Tp=0.2, L=100, Td=0.01, B=4)
    assert law_effects(ORDINARY, after) == pytest.approx(
        {"p": -60, "N": 0, "Tp": 0, "L": 0, "Td": 0, "B": 0}
    )


def test_two_factors_that_vanish_share_the_change() -> None:
    effects = product_effects({"a": 3, "b": 4, "c": 5}, {"a": 0, "b": 0, "c": 9})
    assert effects == {"a": -30, "b": -30, "c": 0}


def test_nothing_moves_where_nothing_was_and_nothing_is() -> None:
    assert product_effects({"a": 0, "b": 4}, {"a": 0, "b": 5}) == {"a": 0, "b": 0}


def test_the_logarithmic_mean_of_nearly_equal_numbers_keeps_its_digits() -> None:
    # logmean(a, a + h) = a + h/2 - h^2 / (12 a) + ..., so 1 + 5e-10 here.
    assert logmean(1.0, 1.0 + 1e-9) == pytest.approx(1.0 + 5e-10, rel=1e-15)
    assert logmean(2.0, 2.0) == 2.0
    assert logmean(1.0, 2.0) == pytest.approx(1.4426950408889634, rel=1e-15)  # 1 / ln 2
