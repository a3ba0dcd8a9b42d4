"""Ledgers of chats whose prompts are measured by hand, and of chats with their texts."""

from typing import Any

from ingest.config import Configuration

S = 1_000_000_000
MIDNIGHT = 1_791_158_400 * S  # 2026-10-05T00:00:00Z
CONFIGURATION = Configuration()


def call(number: int, **columns: Any) -> dict[str, Any]:
    """Alone on its replica: 10 s of prefill and 10 s of decode; an input of 1,000 tokens."""
    return {
        "call_id": str(number),
        "endpoint": "/chat",
        "pool": "a",
        "replica": f"r{number}",
        "timing_source": "engine",
        "arrived_at": MIDNIGHT,
        "started_at": MIDNIGHT,
        "first_token_at": MIDNIGHT + 10 * S,
        "ended_at": MIDNIGHT + 20 * S,
        "uncached_input_tokens": 1000,
        "visible_output_tokens": 10,
    } | columns


def sections(system: int | None = None, **more: int | None) -> dict[str, Any]:
    told = {"system": system, "history": 0, "user": 0, **more}
    return {f"{name}_tokens": tokens for name, tokens in told.items() if tokens is not None}


def chunks(*listed: tuple[int, int, int, int, int], **more: Any) -> dict[str, Any]:
    """`prompt_measures` of chunks, each as hash, signature, first token, tokens, markup."""
    columns = list(zip(*listed, strict=True)) if listed else [()] * 5
    names = ("hashes", "signatures", "begins", "tokens", "markup_tokens")
    lists = {f"chunk_{n}": list(c) for n, c in zip(names, columns, strict=True)}
    flags = {"chunk_is_result": [False] * len(listed)}
    return {"prompt_measures": {"user_turns": 1, **lists, **flags, **more}}
