"""The order in which a guarded semantic cache answers, on vectors that are chosen by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from analysis.near_repetition.asked import Asked
from analysis.near_repetition.embedding import Vectors
from analysis.near_repetition.lookup import chosen, looked_up

ASKED = Asked(
    call_id="1",
    endpoint="/chat",
    text="How do I pay?",
    text_hash="h1",
    scope=(None,) * 7,
    is_sampled=False,
    begun_at=0,
    ended_at=5,
)


def asked(number: int, text: str, endpoint: str = "/chat") -> Asked:
    """Question `number`, asked at its tenth second."""
    at = number * 10
    return replace(
        ASKED,
        call_id=str(number),
        text=text,
        text_hash=f"h{number}",
        begun_at=at,
        ended_at=at + 5,
        endpoint=endpoint,
    )


def at_angles(*degrees: float) -> Vectors:
    angles = np.radians(np.array(degrees))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


SAME = ("How do I pay?", "How do I pay", "how do i pay", "How can I pay?")


def test_an_answered_question_is_not_kept_and_answers_no_other() -> None:
    questions = [asked(number, text) for number, text in enumerate(SAME[:3])]
    found = looked_up(questions, lambda texts: at_angles(0, 15, 30))["/chat"]
    assert [(pair.earlier.call_id, pair.later.call_id) for pair in found.hits] == [("0", "1")]
    assert (found.compared_count, found.near_count, found.rejected_count) == (3, 2, 0)


def test_of_several_kept_questions_the_nearest_answers() -> None:
    questions = [asked(number, text) for number, text in enumerate(SAME)]
    found = looked_up(questions, lambda texts: at_angles(0, 30, 18, 4))["/chat"]
    pairs = [(pair.earlier.call_id, pair.later.call_id) for pair in found.hits]
    assert pairs == [("1", "2"), ("0", "3")]


def test_an_answer_that_is_not_there_yet_is_not_given() -> None:
    first = replace(asked(1, SAME[0]), ended_at=21)
    found = looked_up([first, asked(2, SAME[1])], lambda texts: at_angles(0, 0))["/chat"]
    assert (found.hits, found.stopped) == ([], {"in flight": 1})


def test_endpoints_share_no_answers() -> None:
    questions = [asked(1, SAME[0]), asked(2, SAME[1], endpoint="/other")]
    found = looked_up(questions, lambda texts: at_angles(0, 0))
    assert [one.near_count for one in found.values()] == [0, 0]


@pytest.mark.parametrize("count", [511, 513, 1025])
def test_blocks_change_nothing(count: int) -> None:
    questions = [asked(number, f"{SAME[0]}{' ' * number}") for number in range(count)]

    def turned(texts: Sequence[str]) -> Vectors:
        return at_angles(*[90 * (number % 4) for number in range(len(texts))])

    found = looked_up(questions, turned)["/chat"]
    same_angle = [len(range(first, count, 4)) for first in range(4)]
    assert found.near_count == sum(n * (n - 1) // 2 for n in same_angle)
    assert len(found.hits) == count - 4


def test_texts_with_the_same_tokens_are_compared_and_some_others() -> None:
    alone = [asked(number, f"Tell me about topic number {number}") for number in range(3)]
    alike = [asked(7 + number, text) for number, text in enumerate(SAME[:3])]
    choice = chosen([*alone, *alike], most_alike=2, most_others=1)
    assert [one.call_id for one in choice.questions] == ["0", "7", "8"]
    assert (choice.alike_count, choice.other_count) == (3, 3)


def test_one_text_in_two_scopes_is_no_other_text() -> None:
    twice = [asked(1, SAME[0]), replace(asked(2, SAME[0]), scope=("u",) * 7)]
    assert chosen(twice).alike_count == 0
