"""What was measured of a prompt beyond its counts: turns, few-shot examples, chunks of context.

Owns the shape in which the measures outlive the text: hashes and token counts, no text.
Refuses lists that do not belong to the same chunks.
"""

from typing import Annotated

import msgspec

MAX_CHUNKS = 256
"""Chunks of one prompt; what is beyond is in the last of them."""

Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Hash = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Counts = Annotated[tuple[Count, ...], msgspec.Meta(max_length=MAX_CHUNKS)]
Hashes = Annotated[tuple[Hash, ...], msgspec.Meta(max_length=MAX_CHUNKS)]
Flags = Annotated[tuple[bool, ...], msgspec.Meta(max_length=MAX_CHUNKS)]


class PromptMeasures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The measures of one prompt; `docs/counting.md` says what a chunk is.

    The lists have one item for each chunk, in the order of the prompt: `chunk_begins` is the first
    token among those of the sections, `chunk_markup_tokens` are a part of `chunk_tokens`,
    `chunk_is_result` tells what a tool returned from what a retrieval found. `chunk_is_touched` is
    None where no answer could be compared, `user_turns` and `examples_hash` where there are none.
    """

    user_turns: Count | None = None
    examples_hash: Hash | None = None
    chunk_hashes: Hashes = ()
    chunk_signatures: Hashes = ()
    chunk_begins: Counts = ()
    chunk_tokens: Counts = ()
    chunk_markup_tokens: Counts = ()
    chunk_is_result: Flags = ()
    chunk_is_touched: Flags | None = None

    def __post_init__(self) -> None:
        lists = (
            self.chunk_hashes,
            self.chunk_signatures,
            self.chunk_begins,
            self.chunk_tokens,
            self.chunk_markup_tokens,
            self.chunk_is_result,
            *(() if self.chunk_is_touched is None else (self.chunk_is_touched,)),
        )
        if len({len(each) for each in lists}) != 1:
            raise ValueError("lists of prompt_measures are not of the same chunks")
        tokens = zip(self.chunk_markup_tokens, self.chunk_tokens, strict=True)
        if any(markup > total for markup, total in tokens):
            raise ValueError("prompt_measures has more markup than tokens in a chunk")


def chunk_sums(measures: PromptMeasures) -> dict[str, int | None]:
    """Tokens of the chunks of one prompt, and four parts of them that exclude each other.

    Duplicate are all tokens of a chunk whose text stands in the prompt before; then, of the other
    chunks, the markup; then the rest of those that are nearly a chunk before; then the rest of
    those of which no word is in the answer, None where no answer was compared.
    """
    met: set[int] = set()
    signatures: list[int] = []
    duplicate = markup = near = untouched = 0
    touched = measures.chunk_is_touched
    for at, (text_hash, signature, tokens, own_markup) in enumerate(
        zip(
            measures.chunk_hashes,
            measures.chunk_signatures,
            measures.chunk_tokens,
            measures.chunk_markup_tokens,
            strict=True,
        )
    ):
        if text_hash in met:
            duplicate += tokens
            continue
        markup += own_markup
        if any(are_near(signature, other) for other in signatures):
            near += tokens - own_markup
        elif touched is not None and not touched[at]:
            untouched += tokens - own_markup
        met.add(text_hash)
        signatures.append(signature)
    return {
        "chunked_tokens": sum(measures.chunk_tokens),
        "duplicate_tokens": duplicate,
        "markup_tokens": markup,
        "near_duplicate_tokens": near,
        "untouched_tokens": None if touched is None else untouched,
    }


_MASK = 2**64 - 1


def are_near(signature: int, other: int) -> bool:
    """Whether at least seven of the eight bytes agree."""
    differing = (signature ^ other) & _MASK
    return differing == 0 or differing.bit_length() - _lowest_byte(differing) <= 8


def _lowest_byte(bits: int) -> int:
    """Where the lowest byte that is not 0 begins, in bits."""
    lowest = (bits & -bits).bit_length() - 1
    return lowest - lowest % 8
