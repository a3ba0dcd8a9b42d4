"""Files are whole, replaced at once, and safe to open in a spreadsheet."""

from pathlib import Path

import pytest

from dashboard.monthly.documents import replace_file, table_csv, write_report
from dashboard.monthly.figures import MonthlyFigures


def test_the_folder_is_made_and_each_format_has_its_files(
    figures: MonthlyFigures, tmp_path: Path
) -> None:
    written = write_report(figures, tmp_path / "a" / "b", ("xlsx", "html", "csv"))
    assert [path.name for path in written] == [
        "gpuledger-2026-10.xlsx",
        "gpuledger-2026-10.html",
        "gpuledger-2026-10-endpoints.csv",
        "gpuledger-2026-10-teams.csv",
        "gpuledger-2026-10-days.csv",
        "gpuledger-2026-10-idle-and-unpriced.csv",
        "gpuledger-2026-10-data-quality.csv",
    ]
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(
        path.name for path in written
    )


def test_an_older_file_is_replaced(figures: MonthlyFigures, tmp_path: Path) -> None:
    (tmp_path / "gpuledger-2026-10.html").write_text("old", "utf-8")
    write_report(figures, tmp_path, ("html",))
    assert "Inference cost, 2026-10" in (tmp_path / "gpuledger-2026-10.html").read_text("utf-8")


def test_a_failed_write_keeps_the_older_file_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.html"
    target.write_text("old", "utf-8")

    def fail(_path: Path, _target: Path) -> Path:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        replace_file(target, b"new")
    assert target.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_text_that_a_spreadsheet_would_compute_is_quoted(figures: MonthlyFigures) -> None:
    endpoints = table_csv(figures.tables()[0]).splitlines()
    assert endpoints[3].startswith("'=cmd|'/c calc'!A0,calls,token,12.3")
