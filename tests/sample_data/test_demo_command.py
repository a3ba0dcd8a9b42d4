"""`gpuledger demo` builds the sample's ledger and prints a bill that adds up."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from gpuledger.demo import refuse_foreign
from ingest.errors import LedgerError
from ingest.ledger import open_for_writing

pytestmark = pytest.mark.xdist_group("sample")


def test_the_headline_lines_add_up_to_the_two_months_bill(
    demo_run: tuple[Path, Result], manifest: dict[str, Any]
) -> None:
    _, result = demo_run
    assert result.exit_code == 0
    lines = json.loads(result.stdout, parse_float=Decimal)
    months = manifest["months"]["Asia/Tokyo"]
    bill = sum(
        Decimal(months[month][kind])
        for month in ("2026-09", "2026-10")
        for kind in ("gpu_bill", "token_cost")
    )
    assert round(sum(Decimal(line["cost"] or 0) for line in lines), 2) == round(bill, 2)
    assert {line["line"] for line in lines} == {"calls", "idle", "unpriced"}


def test_each_months_bill_is_said(demo_run: tuple[Path, Result]) -> None:
    _, result = demo_run
    said = [line for line in result.stderr.splitlines() if line.startswith("2026-")]
    assert said == ["2026-09: 174.83 USD", "2026-10: 245.31 USD"]


def test_nothing_but_the_ledger_is_left_behind(demo_run: tuple[Path, Result]) -> None:
    path, _ = demo_run
    left = sorted(other.name for other in path.parent.iterdir())
    assert left == [path.name, f"{path.name}.turn"]


def test_a_demo_is_built_over_an_earlier_demo_only(
    tmp_path: Path, demo_run: tuple[Path, Result]
) -> None:
    refuse_foreign(tmp_path / "nothing-here.duckdb")
    refuse_foreign(demo_run[0])
    own = tmp_path / "own.duckdb"
    open_for_writing(own).close()
    with pytest.raises(LedgerError, match="no demo has built"):
        refuse_foreign(own)
