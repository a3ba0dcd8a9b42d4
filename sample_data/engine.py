"""One engine replica with continuous batching: seconds from the step-time law, no randomness.

Owns admission by cache memory, chunked prefill, and the batch of each step. Refuses to know the
clock of anything but its own steps: the caller says when a job arrives and when to advance.

Steps that only decode are taken together while nobody arrives or ends, because their sum is a
quadratic in closed form; the result is the same as step by step.
"""

import math
from collections import deque
from dataclasses import dataclass, field

from sample_data.company import StepLaw


@dataclass(slots=True, kw_only=True)
class Job:
    """One request inside the engine; seconds since the start of the simulation."""

    key: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    arrived_s: float
    started_s: float = math.nan
    first_token_s: float = math.nan
    ended_s: float = math.nan
    prompt_left: int = 0
    generated: int = 0

    @property
    def context_tokens(self) -> int:
        """Tokens of this job that the cache holds now."""
        return self.input_tokens - self.prompt_left + self.generated

    @property
    def reserved_tokens(self) -> int:
        """Tokens of cache that the job can come to need."""
        return self.input_tokens + self.output_tokens


@dataclass(slots=True)
class Replica:
    """One engine process: a queue, a running batch, and the stretch of steps in flight."""

    name: str
    law: StepLaw
    waiting: deque[Job] = field(default_factory=deque)
    running: list[Job] = field(default_factory=list)
    stretch_no: int = 0
    _began_s: float = 0.0
    _steps: int = 0

    @property
    def load(self) -> int:
        """Jobs here, waiting or running."""
        return len(self.waiting) + len(self.running)

    def submit(self, job: Job, now_s: float) -> float | None:
        """Queue `job`; the new end of the stretch in flight, None where that stays as it is."""
        self.waiting.append(job)
        if self._steps == 0:
            return self.start(now_s)
        if self._is_prefilling() or not self._fits(job):
            return None
        self._steps = min(self._steps, self._steps_until(now_s - self._began_s))
        self.stretch_no += 1
        return self._began_s + self._duration_s(self._steps)

    def finish_stretch(self, now_s: float) -> list[Job]:
        """Apply the steps in flight, which end at `now_s`; the jobs that ended with them."""
        if self._is_prefilling():
            self._prefill_step(now_s)
        else:
            for job in self.running:
                job.generated += self._steps
        ended = [job for job in self.running if job.generated >= job.output_tokens]
        for job in ended:
            job.ended_s = now_s
        self.running = [job for job in self.running if job.generated < job.output_tokens]
        self._steps = 0
        return ended

    def start(self, now_s: float) -> float | None:
        """Admit what fits and begin the next stretch; its end, None where there is no work."""
        while self.waiting and self._fits(self.waiting[0]):
            job = self.waiting.popleft()
            job.started_s = now_s
            job.prompt_left = job.input_tokens - job.cached_tokens
            self.running.append(job)
        self.stretch_no += 1
        if not self.running:
            return None
        self._began_s = now_s
        if self._is_prefilling():
            self._steps = 1
            return now_s + self._prefill_step_s()
        self._steps = min(job.output_tokens - job.generated for job in self.running)
        return now_s + self._duration_s(self._steps)

    def _fits(self, job: Job) -> bool:
        held = sum(other.reserved_tokens for other in self.running)
        return held + job.reserved_tokens <= self.law.kv_tokens or not self.running

    def _is_prefilling(self) -> bool:
        return any(job.prompt_left for job in self.running)

    def _chunks(self) -> list[tuple[Job, int]]:
        budget = self.law.step_prompt_tokens
        found = []
        for job in self.running:
            if job.prompt_left and budget:
                chunk = min(job.prompt_left, budget)
                budget -= chunk
                found.append((job, chunk))
        return found

    def _prefill_step_s(self) -> float:
        chunks = self._chunks()
        prompt = sum(chunk for _, chunk in chunks)
        pairs = sum(chunk * (job.context_tokens + chunk) for job, chunk in chunks)
        return (
            self._decode_step_s()
            + prompt * self.law.prompt_token_s
            + pairs * self.law.prompt_pair_s
        )

    def _prefill_step(self, now_s: float) -> None:
        decoding = [job for job in self.running if not job.prompt_left]
        for job, chunk in self._chunks():
            job.prompt_left -= chunk
            if not job.prompt_left:
                job.first_token_s = now_s
                job.generated = 1
        for job in decoding:
            job.generated += 1

    def _decode_step_s(self) -> float:
        decoding = [job for job in self.running if not job.prompt_left]
        context = sum(job.context_tokens for job in decoding)
        return (
            self.law.fixed_s
            + len(decoding) * self.law.sequence_s
            + context * self.law.context_token_s
        )

    def _duration_s(self, steps: int) -> float:
        if self._is_prefilling():
            return self._prefill_step_s()
        growth = self.law.context_token_s * len(self.running)
        return steps * self._decode_step_s() + growth * steps * (steps - 1) / 2

    def _steps_until(self, elapsed_s: float) -> int:
        low, high = 1, self._steps
        while low < high:
            middle = (low + high) // 2
            if self._duration_s(middle) >= elapsed_s:
                high = middle
            else:
                low = middle + 1
        return low
