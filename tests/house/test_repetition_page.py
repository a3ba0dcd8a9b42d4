"""The page about repeated work names the keys that are left out, and no others."""

import re
from pathlib import Path

from ingest.calls.canonical import VOLATILE_ARGUMENT_KEYS, VOLATILE_RESULT_KEYS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "repetition.md"


def test_the_page_lists_the_keys_of_results_and_then_those_of_arguments() -> None:
    (line,) = [one for one in PAGE.read_text("utf-8").splitlines() if "are left out, at any" in one]
    listed = re.findall(r"`([a-z_]{3,})`", line.split("Case,")[0])
    keys = [key.replace("_", "") for key in listed]
    assert set(keys) == VOLATILE_ARGUMENT_KEYS
    assert set(keys[: len(VOLATILE_RESULT_KEYS)]) == VOLATILE_RESULT_KEYS
    assert len(VOLATILE_RESULT_KEYS) == 14
    assert "the first fourteen of these" in PAGE.read_text("utf-8")
