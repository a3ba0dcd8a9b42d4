"""Counts in words, for the sentences beside an answer."""


def counted(count: int, noun: str) -> str:
    """`count` and `noun`, in the plural unless it is one: "1 call", "8,819 calls"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def part_text(part: int, whole: int) -> str:
    """`part` of `whole` as a rounded percentage: 100% is all, and 0% is none."""
    thousandths = round(1_000 * part / whole)
    if 0 < part < whole:
        thousandths = min(max(thousandths, 1), 999)
    return f"{thousandths / 10:.1f}%"
