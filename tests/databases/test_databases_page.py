"""The page on databases is true: its mapping can be read and says everything that one can say."""

import tomllib
from pathlib import Path

from ingest.readers.mapping_file import DURATIONS, UNITS, TableTerms, mapping_of

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "databases.md").read_text("utf-8")
EXAMPLE = tomllib.loads(PAGE.split("```toml\n")[1].split("```")[0])


def test_the_example_is_a_mapping_with_every_key_of_the_table() -> None:
    mapping = mapping_of(EXAMPLE, "the page")
    assert set(EXAMPLE["table"]) == set(TableTerms.__struct_fields__)
    assert mapping.columns["duration_s"].unit == "ms"


def test_the_page_names_every_duration_and_unit() -> None:
    assert {name for name in (*DURATIONS, *UNITS) if name not in PAGE} == set()
