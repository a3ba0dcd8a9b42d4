"""The labelled pairs, and the rate of false hits that they give with its upper bound."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from analysis.near_repetition.embedding import embed
from analysis.near_repetition.guards import meaning_of, text_conflicts
from analysis.near_repetition.labelled import (
    PARAPHRASE,
    FalseHits,
    false_hits,
    labelled_pairs,
    upper_bound,
)
from analysis.near_repetition.lookup import THRESHOLD

KINDS = {
    "antonym", "comparative", "date", "meaning", "name", "negation", "number", "paraphrase",
    "quantifier", "role", "target language", "unit",
}  # fmt: skip

PASSING = Path(__file__).parent.parent / "fixtures" / "near_repetition" / "passing_pairs.txt"


def is_japanese(text: str) -> bool:
    return any("ぁ" <= sign <= "ヺ" for sign in text)


def test_both_halves_have_every_kind_in_both_languages() -> None:
    pairs = labelled_pairs()
    assert len(pairs) >= 300
    assert len({frozenset((pair.a, pair.b)) for pair in pairs}) == len(pairs)
    places = {(pair.half, pair.kind, is_japanese(pair.a)) for pair in pairs}
    halves = ("development", "held out")
    assert places == {(half, kind, told) for half in halves for kind in KINDS for told in (0, 1)}


def test_no_dangerous_pair_of_either_half_passes_the_guards_at_any_nearness() -> None:
    passing = [
        (pair.a, pair.b)
        for pair in labelled_pairs()
        if pair.kind != PARAPHRASE and not text_conflicts(pair.a, pair.b)
    ]
    assert passing == []


def test_the_rate_is_of_the_held_out_half_and_most_would_pass_by_nearness_alone() -> None:
    assert false_hits(THRESHOLD) == FalseHits(
        false_count=0,
        different_count=228,
        nearness_count=162,
        found_count=36,
        paraphrase_count=70,
    )


def test_the_upper_bound_is_the_exact_binomial_one() -> None:
    # With none of n the bound b solves (1 - b)^n = 0.05.
    assert upper_bound(0, 228) == pytest.approx(1 - 0.05 ** (1 / 228), rel=1e-9)
    # With one of two: P(X <= 1) = 1 - b^2 = 0.05.
    assert upper_bound(1, 2) == pytest.approx(0.95**0.5, rel=1e-9)
    assert upper_bound(3, 3) == 1.0
    assert false_hits(THRESHOLD).upper_ratio == pytest.approx(0.01305, abs=1e-5)


def test_dangerous_pairs_are_nearer_than_most_paraphrases_so_no_threshold_parts_them() -> None:
    pairs = labelled_pairs()
    by_kind = {kind: sorted(p.similarity for p in pairs if p.kind == kind) for kind in KINDS}
    median = {kind: values[len(values) // 2] for kind, values in by_kind.items()}
    assert median["role"] > median["paraphrase"]
    different = sorted(pair.similarity for pair in pairs if pair.kind != PARAPHRASE)
    assert different[len(different) // 2] > THRESHOLD


def test_stored_similarities_are_those_of_the_pinned_model() -> None:
    pairs = labelled_pairs()[::40]
    vectors = embed([text for pair in pairs for text in (pair.a, pair.b)])
    found = (vectors[0::2] * vectors[1::2]).sum(axis=1)
    assert found.tolist() == pytest.approx([pair.similarity for pair in pairs], abs=0.005)
    assert Counter(pair.half for pair in pairs).keys() == {"development", "held out"}


def test_of_all_pairs_of_the_labelled_texts_those_pass_that_a_reader_let_pass() -> None:
    texts = sorted({text for pair in labelled_pairs() for text in (pair.a, pair.b)})
    by_key: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        by_key.setdefault(meaning_of(text).key, []).append(text)
    passing = [
        f"{one} | {other}\n"
        for alike in by_key.values()
        for one, other in combinations(alike, 2)
        if not text_conflicts(one, other)
    ]
    assert len(texts) == 1102  # 606,651 pairs
    assert sorted(passing) == PASSING.read_text("utf-8").splitlines(keepends=True)
