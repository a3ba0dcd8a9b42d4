"""Texts as token ids, each text once.

Owns the memory of what was tokenised: a system prompt or an earlier turn comes again with every
call of its conversation. Refuses to remember a text: its digest stands for it.
"""

import re
from collections import OrderedDict
from functools import cache
from hashlib import blake2b
from threading import Lock

import numpy as np
import numpy.typing as npt

from ingest.counting.vocabulary import vocabulary

Ids = npt.NDArray[np.uint32]

MAX_PIECE_CHARACTERS = 100_000
"""The tokenizer's regular expressions recurse over blanks: a million of them exhaust its stack."""
REMEMBERED_TOKENS = 4_000_000
"""16 MB of ids; beyond, what was not used for longest is forgotten."""

_SAFE_CUT = re.compile(r"[A-Za-z](?= [A-Za-z])")
"""Here both encodings begin a new token whatever comes before."""


class TokenMemory:
    """Token ids by digest of text; safe to ask from several threads."""

    def __init__(self, remembered_tokens: int = REMEMBERED_TOKENS) -> None:
        self._remembered_tokens = remembered_tokens
        self._held = 0
        self._known: OrderedDict[bytes, Ids] = OrderedDict()
        self._lock = Lock()

    def ids(self, text: str, encoding: str) -> Ids:
        """The tokens of `text`; what looks like a special token is text as any other."""
        key = blake2b(encoding.encode() + b":" + encoded(text), digest_size=16).digest()
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        made = tokenised(text, encoding)
        self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: Ids) -> None:
        if len(made) > self._remembered_tokens // 4:
            return
        with self._lock:
            if key not in self._known:
                self._known[key] = made
                self._held += len(made)
            while self._held > self._remembered_tokens:
                _, forgotten = self._known.popitem(last=False)
                self._held -= len(forgotten)


@cache
def token_memory() -> TokenMemory:
    """The memory of this process."""
    return TokenMemory()


def encoded(text: str) -> bytes:
    """`text` as the tokenizer takes it: a lone surrogate is the replacement character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def tokenised(text: str, encoding: str) -> Ids:
    """The token ids of `text` by the encoding of that name, as `encode_ordinary` gives them."""
    if not text:
        return np.empty(0, dtype=np.uint32)
    tokenizer = vocabulary(encoding).encoding
    pieces = [
        tokenizer.encode_to_numpy(piece, disallowed_special=())
        for piece in _pieces(encoded(text).decode())
    ]
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _pieces(text: str) -> list[str]:
    """`text` in parts that are short enough, cut where a token begins in any case if there is."""
    pieces = []
    begin = 0
    while len(text) - begin > MAX_PIECE_CHARACTERS:
        end = begin + MAX_PIECE_CHARACTERS
        cuts = [cut.end() for cut in _SAFE_CUT.finditer(text, end - 1000, end)]
        pieces.append(text[begin : cuts[-1] if cuts else end])
        begin += len(pieces[-1])
    return [*pieces, text[begin:]]
