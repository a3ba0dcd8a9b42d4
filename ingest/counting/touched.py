"""Whether an answer took up a chunk of its prompt: a word, a number or a name of it stands there.

Owns the comparison. It is a sign and no proof: an answer may rest on a chunk of which it repeats
nothing. Refuses to judge by an answer that says too little, and errs on the side of "touched": any
one word is enough, also inside of a longer one.
"""

import re
import unicodedata
from collections.abc import Sequence

MIN_TERMS = 8
"""An answer of fewer words is a label, a number or a yes, which shows nothing of what was read."""
MAX_CHARACTERS = 100_000
"""Longer answers touch everything, and are not compared."""

_TERM = re.compile(
    r"[\u3400-\u9fff\uac00-\ud7af々]{2,}|[\u30a0-\u30ff]{2,}|\d{2,}"
    r"|[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{4,}"
)
"""Words, numbers, katakana, and runs of kanji or hangul, which are compared by two characters."""
_RUN = re.compile(r"[\u3400-\u9fff\uac00-\ud7af々]")
_COMMON_WORDS = """
    about above according across after again against also although always among another around
    based because been before being below between both cannot come contains could describes does
    doing done down during each either enough even every find following found from further given
    gives have having hence here however include includes including information instead into
    itself just known like list made make makes many more most much must need needs never next none
    only other others otherwise over please provide provided provides question rather same says see
    several shall should show shows since some such take text than that their them then there
    therefore these they this those though through thus together under unless until upon used uses
    using very want well were what when where whether which while will with within without would
    your yours answer answers context document documents source sources
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def terms_of(texts: Sequence[str]) -> frozenset[str] | None:
    """What the answer in `texts` is compared by; None where it says too little, or too much."""
    if sum(map(len, texts)) > MAX_CHARACTERS:
        return None
    words = {word for text in texts for word in _TERM.findall(folded(text))} - _COMMON
    runs = {word for word in words if _RUN.match(word)}
    pairs = {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
    found = frozenset((words - runs) | pairs)
    return found if len(found) >= MIN_TERMS else None


def is_touched(chunk: str, terms: frozenset[str]) -> bool:
    """Whether any of `terms` stands in `chunk`, which is not folded yet."""
    text = folded(chunk)
    return any(map(text.__contains__, terms))


def folded(text: str) -> str:
    """`text` without differences of case and width."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
