"""The trace that was replayed: `python -m sample_data.recording.make_trace > trace.jsonl`.

Owns its seed and shapes. Two endpoints of a small assistant: `/assistant` begins every prompt with
one of three system prompts, `/translate` shares nothing. Refuses to import the product.
"""

import json
import random
import sys
from collections.abc import Iterator

SEED = 20261101
CALLS = 24
FIRST_ARRIVAL_AT = 1_793_502_000_000_000_000
"""2026-11-01T00:20:00Z in nanoseconds."""

MEAN_GAP_S = 1.0
BLOCK_TOKENS = 16
SYSTEM_PROMPTS = {1: 20, 2: 16, 3: 12}
"""Number of the system prompt and its blocks."""

POPULARITY = (4, 2, 1)
ASSISTANT_SHARE = 0.6


def main() -> None:
    """Write one call a line, in the native format, to stdout."""
    for call in calls(random.Random(SEED)):
        sys.stdout.write(json.dumps(call) + "\n")


def calls(draw: random.Random) -> Iterator[dict[str, object]]:
    """The calls in order of arrival; service times are placeholders that a replay does not read."""
    at = FIRST_ARRIVAL_AT
    for number in range(CALLS):
        at += int(draw.expovariate(1 / MEAN_GAP_S) * 1e9)
        is_assistant = draw.random() < ASSISTANT_SHARE
        blocks = assistant_blocks(draw, number) if is_assistant else own_blocks(number, 12)
        rest = draw.randint(1, BLOCK_TOKENS)
        yield {
            "call_id": f"recorded-{number:02}",
            "endpoint": "/assistant" if is_assistant else "/translate",
            "team": "product",
            "service": "assistant",
            "operation": "chat",
            "model": "smollm2-135m-instruct",
            "arrived_at": at,
            "started_at": at,
            "ended_at": at + 1_000_000_000,
            "uncached_input_tokens": (len(blocks) - 1) * BLOCK_TOKENS + rest,
            "visible_output_tokens": draw.randint(8, 24),
            "prefix_hashes": blocks,
            "prefix_block_tokens": BLOCK_TOKENS,
        }


def assistant_blocks(draw: random.Random, number: int) -> list[int]:
    """The blocks of a system prompt and of a question of its own."""
    (prompt,) = draw.choices(list(SYSTEM_PROMPTS), POPULARITY)
    system = [prompt * 1_000 + block for block in range(SYSTEM_PROMPTS[prompt])]
    return system + own_blocks(number, draw.randint(1, 4))


def own_blocks(number: int, count: int) -> list[int]:
    """Blocks that no other call has."""
    return [(number + 1) * 1_000_000 + block for block in range(count)]


if __name__ == "__main__":
    main()
