"""`gpuledger formats` lists the readers, the same cells in each form."""

import csv
import io
import json

from click.testing import CliRunner

from gpuledger.main import gpuledger
from ingest.readers import READERS


def test_the_formats_are_listed_with_how_each_is_recognised() -> None:
    as_json = CliRunner().invoke(gpuledger, ["formats", "--format", "json"])
    rows = json.loads(as_json.stdout)
    assert [row["name"] for row in rows] == [reader.name for reader in READERS]
    assert list(rows[0]) == ["name", "title", "recognised_by"]
    as_csv = CliRunner().invoke(gpuledger, ["formats", "--format", "csv"])
    assert list(csv.DictReader(io.StringIO(as_csv.stdout))) == rows
    as_table = CliRunner().invoke(gpuledger, ["formats"])
    assert all(row["recognised_by"] in as_table.stdout for row in rows)
