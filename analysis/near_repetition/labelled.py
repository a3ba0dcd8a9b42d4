"""How often the guards let a wrong answer pass, on pairs of questions that are labelled.

Owns `labelled_pairs.jsonl`: pairs in English and Japanese that say the same ("paraphrase") or do
not, by kind, each with the cosine of the pinned model. The guards were developed on one half; what
is reported is of the other. Refuses a rate without its upper bound.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import msgspec
from scipy.stats import beta

from analysis.near_repetition.guards import text_conflicts

PARAPHRASE = "paraphrase"
CONFIDENCE = 0.95


class LabelledPair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two questions, whether and how they differ, their cosine, and the half that they are in."""

    kind: str
    a: str
    b: str
    similarity: float
    half: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseHits:
    """On the held-out half: different questions that pass, and equal ones that are found.

    `nearness_count` is how many different ones would pass by nearness alone.
    """

    false_count: int
    different_count: int
    nearness_count: int
    found_count: int
    paraphrase_count: int

    @property
    def ratio(self) -> float:
        """The share of pairs of different questions that would be answered wrongly."""
        return self.false_count / self.different_count

    @property
    def upper_ratio(self) -> float:
        """The upper bound of `ratio`: one-sided, 95 %, Clopper and Pearson (1934)."""
        return upper_bound(self.false_count, self.different_count)

    @property
    def recall_ratio(self) -> float:
        """The share of paraphrases that are found."""
        return self.found_count / self.paraphrase_count


@cache
def labelled_pairs() -> tuple[LabelledPair, ...]:
    """All labelled pairs, of both halves."""
    path = files("analysis.near_repetition") / "labelled_pairs.jsonl"
    decoder = msgspec.json.Decoder(LabelledPair)
    return tuple(decoder.decode_lines(path.read_bytes()))


def false_hits(threshold: float, half: str = "held out") -> FalseHits:
    """What passes at `threshold` among the labelled pairs of `half`."""
    pairs = [pair for pair in labelled_pairs() if pair.half == half]
    near = [pair for pair in pairs if pair.similarity >= threshold]
    passing = [pair for pair in near if not text_conflicts(pair.a, pair.b)]
    return FalseHits(
        false_count=sum(pair.kind != PARAPHRASE for pair in passing),
        different_count=sum(pair.kind != PARAPHRASE for pair in pairs),
        nearness_count=sum(pair.kind != PARAPHRASE for pair in near),
        found_count=sum(pair.kind == PARAPHRASE for pair in passing),
        paraphrase_count=sum(pair.kind == PARAPHRASE for pair in pairs),
    )


def upper_bound(count: int, of: int) -> float:
    """The largest share that `count` of `of` does not contradict, one-sided at 95 %.

    The quantile of a beta distribution (Clopper and Pearson, 1934); 1 where all of them count.
    """
    return 1.0 if count == of else float(beta.ppf(CONFIDENCE, count + 1, of - count))
