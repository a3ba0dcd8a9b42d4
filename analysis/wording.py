"""Counts in words, for the sentences beside an answer."""


def counted(count: int, noun: str) -> str:
    """`count` and `noun`, in the plural unless it is one: "1 call", "8,819 calls"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
