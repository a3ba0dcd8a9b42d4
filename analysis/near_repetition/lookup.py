"""What a guarded semantic cache would have answered, question after question in order of time.

Owns the search: of the questions kept before, those that are near enough, then the guards. Refuses
a chain: a question that was answered from the cache is not kept, so it answers no other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from analysis.near_repetition.asked import Asked, scope_conflicts
from analysis.near_repetition.embedding import Embed, Vectors
from analysis.near_repetition.guards import conflicts, meaning_of

THRESHOLD = 0.95
"""Least cosine of two questions that are near; chosen on the development half of the labelled
pairs, where it loses no paraphrase that the guards let pass."""

MOST_ALIKE = 400
"""Different texts that one answer embeds of those that could be hits: some seconds of two cores."""

MOST_OTHERS = 100
"""And of those that could not, to count what the guards stop."""

BLOCK = 512
"""Questions that are compared with all before them at once."""


class NearPair(NamedTuple):
    """A later question beside an earlier one; `guards` stop it, none of them lets it pass."""

    earlier: Asked
    later: Asked
    similarity: float
    guards: tuple[str, ...]


@dataclass(slots=True)
class Found:
    """Of one endpoint: its questions that were compared, near pairs, and what was answered.

    `stopped` counts near pairs by guard, one that several guards stop with each; `examples` has
    the nearest pair of each guard.
    """

    compared_count: int = 0
    near_count: int = 0
    rejected_count: int = 0
    stopped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, NearPair] = field(default_factory=dict)
    hits: list[NearPair] = field(default_factory=list)


class Choice(NamedTuple):
    """The questions to compare, in their order, and of how many different texts they are.

    A text is alike where another of its endpoint has the same tokens: no other pair can pass the
    guards. Of the `alike_count` such texts and the `other_count` other ones the first are chosen.
    """

    questions: Sequence[Asked]
    alike_count: int
    other_count: int


def chosen(
    questions: Sequence[Asked], most_alike: int = MOST_ALIKE, most_others: int = MOST_OTHERS
) -> Choice:
    """Of `questions` those to compare."""
    texts = dict.fromkeys((one.endpoint, one.text) for one in questions)
    keys = {place: (place[0], meaning_of(place[1]).key) for place in texts}
    counts = Counter(keys.values())
    alike = [place for place in texts if counts[keys[place]] > 1]
    others = [place for place in texts if counts[keys[place]] == 1]
    kept = {*alike[:most_alike], *others[:most_others]}
    return Choice(
        [one for one in questions if (one.endpoint, one.text) in kept], len(alike), len(others)
    )


def looked_up(
    questions: Sequence[Asked], embed: Embed, threshold: float = THRESHOLD
) -> Mapping[str | None, Found]:
    """By endpoint what a cache of `questions`, which are in order of time, would have answered."""
    texts = list(dict.fromkeys(one.text for one in questions))
    places = {text: place for place, text in enumerate(texts)}
    vectors = embed(texts)
    by_endpoint: dict[str | None, list[Asked]] = defaultdict(list)
    for one in questions:
        by_endpoint[one.endpoint].append(one)
    return {
        endpoint: _found(own, vectors[[places[one.text] for one in own]], threshold)
        for endpoint, own in by_endpoint.items()
    }


def _found(questions: Sequence[Asked], vectors: Vectors, threshold: float) -> Found:
    found = Found(compared_count=len(questions))
    answered: set[str] = set()
    best: NearPair | None = None
    for pair in _near(questions, vectors, threshold):
        _count(found, pair)
        if best is not None and best.later is not pair.later:
            _answer(found, answered, best)
            best = None
        if not pair.guards and pair.earlier.call_id not in answered:
            best = pair if best is None or pair.similarity > best.similarity else best
    if best is not None:
        _answer(found, answered, best)
    return found


def _answer(found: Found, answered: set[str], pair: NearPair) -> None:
    answered.add(pair.later.call_id)
    found.hits.append(pair)


def _count(found: Found, pair: NearPair) -> None:
    found.near_count += 1
    found.rejected_count += bool(pair.guards)
    found.stopped.update(pair.guards)
    for guard in pair.guards:
        if guard not in found.examples or found.examples[guard].similarity < pair.similarity:
            found.examples[guard] = pair


def _near(questions: Sequence[Asked], vectors: Vectors, threshold: float) -> Iterator[NearPair]:
    """The pairs at `threshold` or nearer, by the later question; equal texts are no such pair."""
    for first in range(0, len(questions), BLOCK):
        last = min(first + BLOCK, len(questions))
        cosines = vectors[first:last] @ vectors[:last].T
        cosines[np.triu_indices(last - first, first, last)] = -1
        for row, column in np.argwhere(cosines >= threshold):
            earlier, later = questions[column], questions[first + row]
            if earlier.text_hash != later.text_hash:
                told = scope_conflicts(earlier, later)
                told += conflicts(meaning_of(earlier.text), meaning_of(later.text))
                yield NearPair(earlier, later, float(cosines[row, column]), told)
