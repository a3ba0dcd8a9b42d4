"""What the replay needs of an engine: start, speak, read back, reset, stop.

Owns the words between the replay client and any engine. Refuses nothing itself: an adapter says in
`cannot` what it is not able to do, and the result repeats it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ingest.records import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the engine itself says of one finished request. Its times hold no queue.

    `prompt_s` runs from the start of prompt processing to the first token, `decode_s` from the
    first to the last token. With several slots both contain the work that other requests did in
    the same steps: they are residence, and must not be added up over requests.
    """

    cached_tokens: int
    computed_tokens: int
    output_tokens: int
    prompt_s: float
    decode_s: float
    slot: int | None
    stop_reason: str

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt as the engine saw it, in tokens."""
        return self.cached_tokens + self.computed_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a response stream.

    `has_output` is true for text, reasoning, a tool delta or a token id: the first such frame is
    the first token. `served` is set on the frame that ends the response.
    """

    has_output: bool
    output_tokens: int
    served: Served | None = None


class RunningEngine(Protocol):
    """An engine that answers. Every method raises `EngineError` where it died or does not answer.

    `context_tokens` is the room of one request, prompt and output together. `prompt_ids` are the
    token ids that ordinary text may hold. `properties` are the flags as the engine applied them.
    """

    @property
    def base_url(self) -> str: ...
    @property
    def completion_path(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def slots(self) -> int: ...
    @property
    def context_tokens(self) -> int: ...
    @property
    def prompt_ids(self) -> NDArray[np.uint32]: ...
    @property
    def properties(self) -> Mapping[str, Json]: ...

    def request_body(self, prompt: Sequence[int], output_tokens: int) -> bytes:
        """A streaming request for exactly `output_tokens` tokens after `prompt`, greedy."""

    def read_frame(self, data: bytes) -> Frame:
        """One `data:` line of the stream, understood."""

    def warm_up(self) -> None:
        """Allocators and caches of the code are warm; the prefix cache holds none of the trace."""

    def reset_cache(self) -> None:
        """The prefix cache is empty afterwards; `base_url` may have changed."""

    def metrics(self) -> str:
        """The engine's counters as Prometheus text."""

    def cpu_s(self) -> float | None:
        """Processor seconds used so far; None where unknown, or where it computes on a device."""

    def raise_if_dead(self, grace_s: float = 0.0) -> None:
        """Raises `EngineError` with the end of the log where the process ends within `grace_s`."""

    def log_tail(self) -> str:
        """The last lines of the engine's log."""

    def stop(self) -> None:
        """The process has ended; calling it again does nothing."""


class Engine(Protocol):
    """An adapter: how an engine is started with flags. `cannot` names what it is unable to do."""

    name: str
    version: str
    cannot: tuple[str, ...]

    def resolve(self, flags: Mapping[str, str]) -> Mapping[str, str]:
        """All flags with their defaults; raises `WrongFlagError` for an unknown or bad one."""

    def context_tokens(self, flags: Mapping[str, str]) -> int:
        """The room that `flags` ask for one request, prompt and output together, in tokens."""

    def start(self, flags: Mapping[str, str], log_path: Path) -> RunningEngine:
        """A running engine whose flags have been read back; the log is kept at `log_path`."""
