"""What is asked for: visits made of HTTP requests, requests made of model calls, before any timing.

Owns the shape of planned traffic. Refuses to say when a call ends: that is the engine's answer.
"""

from dataclasses import dataclass
from typing import Literal

from sample_data.company import EndpointFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One tool that an agent runs before its next call."""

    name: str
    arguments: str
    result: str
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """One search before a call: its query, the chunks it found, and its duration."""

    query: str
    chunks: tuple[str, ...]
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One model call as planned.

    `shared_tokens` lead every prompt of the endpoint; `thread_tokens` lead this conversation's
    prompt and were seen by the replica that served the call before. `system`, `message`
    and `answer` are the texts that telemetry may tell of the prompt and of what came of it.
    """

    input_tokens: int
    output_tokens: int
    reasoning_tokens: int = 0
    shared_tokens: int = 0
    thread_tokens: int = 0
    system: str | None = None
    message: str | None = None
    answer: str | None = None
    tool: ToolUse | None = None
    retrieval: Retrieval | None = None
    failure: Literal["broken", "refused"] | None = None

    @property
    def prompt(self) -> tuple[str | None, str] | None:
        """The texts of the prompt; None where the telemetry tells none."""
        return None if self.message is None else (self.system, self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One HTTP request: its calls follow each other."""

    endpoint: EndpointFacts
    steps: tuple[Step, ...]
    pause_before_s: float = 0.0
    conversation: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """Somebody's requests: each begins `pause_before_s` after the one before has ended."""

    arrived_at: int
    requests: tuple[Request, ...]
