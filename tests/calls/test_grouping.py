"""Pairs of views make groups only where all of a group agree."""

from ingest.calls.grouping import Group, Pair, Told, groups


def told(**observers: str) -> dict[str, Told]:
    return {view: Told(observer, None) for view, observer in observers.items()}


def probable(*pairs: str) -> list[Pair]:
    return [Pair(pair[0], pair[1], "probable") for pair in pairs]


def test_two_and_three_that_agree_are_a_group() -> None:
    observers = told(a="shop", b="gateway", c="vllm")
    assert groups(probable("ab"), observers) == [Group(frozenset("ab"), "probable")]
    assert groups(probable("ab", "bc", "ac"), observers) == [Group(frozenset("abc"), "probable")]


def test_a_chain_of_three_whose_ends_do_not_agree_is_none() -> None:
    assert groups(probable("ab", "bc"), told(a="shop", b="gateway", c="vllm")) == []


def test_two_views_of_one_observer_are_never_one_call() -> None:
    assert groups(probable("ab", "bc", "ac"), told(a="shop", b="gateway", c="shop")) == []


def test_views_of_one_answer_are_one_node_for_those_that_resemble() -> None:
    pairs = [Pair("a", "b", "response_id"), *probable("bc")]
    assert groups(pairs, told(a="shop", b="gateway", c="vllm")) == [
        Group(frozenset("abc"), "probable")
    ]


def test_of_an_ambiguous_group_what_an_id_says_is_kept() -> None:
    pairs = [Pair("a", "b", "response_id"), *probable("bc", "cd")]
    assert groups(pairs, told(a="shop", b="gateway", c="vllm", d="web")) == [
        Group(frozenset("ab"), "response_id")
    ]


def test_two_answers_are_two_calls() -> None:
    views = {"a": Told("shop", "r1"), "b": Told("gateway", "r2"), "c": Told("vllm", None)}
    assert groups(probable("ac", "bc", "ab"), views) == []
