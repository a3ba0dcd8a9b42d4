"""What was counted of one span's texts, in the form in which it outlives them.

Owns that form: a JSON object in the attribute `gpuledger.counted`, put there before a text is
masked. Refuses one that is not what it wrote.
"""

from base64 import b64decode, b64encode
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from ingest.calls.tokens import MAX_TOKENS
from ingest.counting.measures import AnswerMeasures
from ingest.prompt_measures import PromptMeasures
from ingest.records import Json

ATTRIBUTE = "gpuledger.counted"
PREFIX_COLUMNS = ("prefix_hashes", "prefix_block_tokens", "volatile_spans", "stable_prefix_hashes")
"""The columns of a call that are told together: those of one prompt."""

Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]


class Counted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Token counts of a prompt and an answer; None where there was none, or it was not needed.

    `input_tokens` are those of the sections and `format_tokens`. The reasons say why a count is an
    estimate; a count without any is what the model counts. `prefix` holds the hashes in base64,
    `measures` what was measured of the prompt besides, `answer_measures` what was of the answer.
    `volatile` has three numbers a span of volatile text (first token, tokens, kind), and
    `stable_prefix` the hashes without these spans, from the block on in which the first begins.
    """

    encoding: str
    input_tokens: Tokens | None = None
    format_tokens: Tokens = 0
    is_input_of_ids: bool = False
    input_reasons: tuple[str, ...] = ()
    sections: dict[str, Tokens] = {}
    output_tokens: Tokens | None = None
    reasoning_tokens: Tokens | None = None
    output_reasons: tuple[str, ...] = ()
    prefix: str | None = None
    prefix_block_tokens: Tokens | None = None
    measures: PromptMeasures | None = None
    answer_measures: AnswerMeasures | None = None
    volatile: tuple[Tokens, ...] | None = None
    stable_prefix: str | None = None

    @property
    def has_prompt(self) -> bool:
        """Whether anything was counted of a prompt."""
        return bool(self.input_tokens or self.sections or self.prefix)

    def prefix_hashes(self) -> tuple[int, ...] | None:
        """The hashes of the leading blocks, signed 64-bit integers."""
        return _unpacked_hashes(self.prefix)

    def stable_prefix_hashes(self) -> tuple[int, ...] | None:
        """The hashes without volatile text, signed 64-bit integers."""
        return _unpacked_hashes(self.stable_prefix)


def packed_hashes(hashes: npt.NDArray[np.int64]) -> str | None:
    """`hashes` as text; None where there is none."""
    return b64encode(hashes.astype("<i8").tobytes()).decode() if len(hashes) else None


def _unpacked_hashes(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    return tuple(np.frombuffer(b64decode(text), dtype="<i8").tolist())


def to_json(counted: Counted) -> str:
    """`counted` as the value of its attribute."""
    return msgspec.json.encode(counted, order="sorted").decode()


def of_attribute(value: Json) -> Counted | None:
    """What `to_json` made `value` of; None where it is anything else."""
    if not isinstance(value, str):
        return None
    try:
        found = msgspec.json.decode(value, type=Counted)
        found.prefix_hashes()
        if found.answer_measures is not None:
            found.answer_measures.columns()
        found.stable_prefix_hashes()
    except (msgspec.MsgspecError, ValueError):
        return None
    return found
