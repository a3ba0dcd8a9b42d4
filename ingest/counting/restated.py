"""Whether an answer begins by saying its question again.

Owns the strict rule: such a sentence announces it ("You asked …", 「…についてのご質問ですね」) or
is itself a question, and says nothing that the question does not: all its words, and four of five
pairs of them in a row, are the question's. Refuses a plain statement, which may be the answer
("The shop is open on Sunday."), and to look beyond the first two sentences.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

MOST_SENTENCES = 2
MOST_QUESTION_CHARACTERS = 4_000
"""A longer text of a user holds a document: sentences that repeat it may be what was asked for."""
LEAST_SHARE = 0.8
LEAST_WORDS = 3
LEAST_SIGNS = 6

_JAPANESE = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]")
_SIGN = re.compile(r"[\u3041-\u30ff\u3400-\u9fff々ー]|[^\W_]")
_CONTENT_SIGN = re.compile(r"[\u30a1-\u30ff\u4e00-\u9fff]|[a-z0-9]")
_WORD = re.compile(r"[^\W_]+")
_ENGLISH_LEAD = re.compile(
    r"\A\W*(?:so\W+)?(?:you(?:'re|’re| are| were| have|'ve|’ve)?\s+"
    r"(?:just\s+)?(?:ask(?:ed|ing)?|want(?:ed)?(?: to know)?|would like to know|wish to know"
    r"|wonder(?:ed|ing)?)(?:\s+(?:me|us|about|whether|if))*"
    r"|your (?:question|request|query)(?:\s+(?:is|was|about))*"
    r"|the question(?:\s+(?:is|was|asks|here|about))*"
    r"|(?:regarding|concerning|as for) your (?:question|request|query)(?:\s+about)?"
    r"|(?:question|query))\b"
)
_JAPANESE_LEAD = re.compile(
    r"(?:に(?:つい|関し|かんし)て)?(?:の|という|との)?(?:ご|お)?(?:質問|尋ね|問い合わせ|訊ね)"
    r"(?:です|でございます|ですね|いただ|をいただ|ありがとう|頂|の件)?.*\Z"
    r"|(?:という|との)こと(?:ですね|でしょうか)?.*\Z"
    r"|(?:を|が)?(?:お)?知りたい(?:の|と|ん)?.*\Z"
    r"|に(?:つい|関し)て(?:ですね|のことですね)?.*\Z"
)
_ASKS = re.compile(r"[?？]\W*\Z|(?:です|ます|でしょう)か[。\s]*\Z")
_SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the to of in on at for from by and or is are was were be been do does did can could "
        "would should will i me my mine we us our you your yours please it this that s re ve ll d",
    )
)
_NEGATIONS = re.compile(r"ない|ません|ぬ(?=[。\s]|\Z)")


def restated_count(sentences: Sequence[str], question: str | None) -> int | None:
    """How many of the first sentences say `question` again; None where that cannot be told.

    0 where the third does so too, or none is left after them: then the task was to repeat.
    """
    if question is None or not 0 < len(question) <= MOST_QUESTION_CHARACTERS:
        return None
    asked = question.casefold()
    count = 0
    for sentence in sentences[: MOST_SENTENCES + 1]:
        if not _is_restated(sentence.casefold(), asked):
            break
        count += 1
    return count if count <= MOST_SENTENCES and count < len(sentences) else 0


def _is_restated(sentence: str, asked: str) -> bool:
    if _JAPANESE.search(sentence):
        return _is_restated_japanese(sentence, asked)
    lead = _ENGLISH_LEAD.match(sentence)
    if lead is None and not _ASKS.search(sentence):
        return False
    said = _words(sentence if lead is None else sentence[lead.end() :])
    known = _words(asked)
    return len(said) >= LEAST_WORDS and set(said) <= set(known) and _share(said, known)


def _is_restated_japanese(sentence: str, asked: str) -> bool:
    lead = _JAPANESE_LEAD.search(sentence)
    if lead is None and not _ASKS.search(sentence):
        return False
    told = sentence if lead is None else sentence[: lead.start()]
    said, known = _SIGN.findall(told), _SIGN.findall(asked)
    is_known = set(_CONTENT_SIGN.findall(told)) <= set(_CONTENT_SIGN.findall(asked))
    is_as_negative = len(_NEGATIONS.findall(told)) <= len(_NEGATIONS.findall(asked))
    return len(said) >= LEAST_SIGNS and is_known and is_as_negative and _share(said, known)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word not in _SMALL_WORDS]


def _share(said: Sequence[str], known: Sequence[str]) -> bool:
    pairs = list(pairwise(said))
    held = set(pairwise(known))
    return sum(pair in held for pair in pairs) >= LEAST_SHARE * len(pairs)
