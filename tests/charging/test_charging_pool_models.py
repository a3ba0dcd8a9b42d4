"""A model belongs to one pool: entries that move it from one to another are refused."""

from pathlib import Path

import pytest

from ingest.config import load_configuration
from ingest.errors import ConfigurationError


def entry(name: str, models: str, since: str | None = None) -> str:
    """One entry of pool `name`, from a day of 2026 such as "10-01" on."""
    begin = "" if since is None else f"from = 2026-{since}T00:00:00Z\n"
    return f'[[pools]]\nname = "{name}"\nmodels = [{models}]\n{begin}'


@pytest.mark.parametrize(
    "entries",
    [
        (entry("a", '"m"', "10-01"), entry("a", "", "11-01"), entry("b", '"m"', "11-01")),
        (entry("b", '"m"', "11-01"), entry("a", '"m"', "10-01")),
        (entry("a", '"m"'), entry("a", '"n"', "11-01"), entry("b", '"m"', "11-01")),
        (entry("a", '"m"'), entry("a", "", "11-01"), entry("b", '"m"', "12-01")),
    ],
    ids=["in turn", "the later first in the file", "beside another model", "after a gap"],
)
def test_a_model_that_moves_to_another_pool_is_refused(
    tmp_path: Path, entries: tuple[str, ...]
) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text("".join(entries), "utf-8")
    with pytest.raises(ConfigurationError, match=r"pools\.models moves 'm' from pool '[ab]' to"):
        load_configuration(path)


@pytest.mark.parametrize(
    "entries",
    [
        (entry("a", '"m"', "10-01"), entry("a", '"m"', "11-01")),
        (entry("a", '"m"', "10-01"), entry("a", "", "11-01")),
        (entry("a", '"m"', "10-01"), entry("b", '"m"', "11-01")),
        (entry("a", '"m"', "10-01"), entry("b", '"n"', "11-01")),
    ],
    ids=["another size", "no model named again", "the first keeps its calls", "two models"],
)
def test_a_model_that_stays_with_its_pool_is_accepted(
    tmp_path: Path, entries: tuple[str, ...]
) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text("".join(entries), "utf-8")
    assert len(load_configuration(path).pools) == 2
