"""The page on the configuration shows every key, and all of it can be read."""

import re
from pathlib import Path

import msgspec

from ingest import config
from ingest.config import MAPPABLE_COLUMNS, load_configuration
from ingest.config_plans import Plan

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text("utf-8")
EXAMPLE = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[0]
TABLES = (
    config.Configuration,
    config.Pool,
    config.TokenPrice,
    config.ExchangeRate,
    config.Budget,
    Plan,
    config.Slo,
    config.MaskPattern,
)


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "gpuledger.toml"
    path.write_text(EXAMPLE, "utf-8")
    loaded = load_configuration(path)
    assert loaded.pools[0].schedule == ("mon-fri 08:00-20:00", "sat 10:00-14:00")
    assert len(loaded.exchange_rates) == 1


def test_the_example_has_every_key() -> None:
    keys = {field.encode_name for table in TABLES for field in msgspec.structs.fields(table)}
    assert {
        key for key in keys if not re.search(rf"^(\[*{key}\]*$|\[+{key}\]+|{key} =)", EXAMPLE, re.M)
    } == set()


def test_the_page_names_every_column_that_can_be_mapped() -> None:
    assert {column for column in MAPPABLE_COLUMNS if f"`{column}`" not in PAGE} == set()
