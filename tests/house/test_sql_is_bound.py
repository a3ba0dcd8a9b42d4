"""Values are bound: no statement is put together from what comes in."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for folder in ("gpuledger", "dashboard", "simulator", "analysis", "ingest")
    for path in (ROOT / folder).glob("**/*.py")
)
SQL_FILES = sorted(
    path
    for folder in ("analysis", "ingest", "simulator")
    for path in (ROOT / folder).glob("**/*.sql")
)


def assembled_statements(tree: ast.AST) -> list[int]:
    """Lines on which a statement is built in place from an f-string with names, % or format."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in {"execute", "executemany", "sql", "query"} or not node.args:
            continue
        statement = node.args[0]
        is_formatted = isinstance(statement, ast.JoinedStr) and any(
            isinstance(part, ast.FormattedValue) for part in statement.values
        )
        is_percent = isinstance(statement, ast.BinOp) and isinstance(statement.op, ast.Mod)
        is_format = (
            isinstance(statement, ast.Call)
            and isinstance(statement.func, ast.Attribute)
            and statement.func.attr == "format"
        )
        if is_formatted or is_percent or is_format:
            lines.append(node.lineno)
    return lines


def test_the_check_sees_a_formatted_statement() -> None:
    assert assembled_statements(ast.parse('c.execute(f"select {name}")')) == [1]
    assert assembled_statements(ast.parse('c.execute("select $name", {"name": name})')) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_statement_is_formatted(path: Path) -> None:
    assert assembled_statements(ast.parse(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("path", SQL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_sql_file_begins_with_a_comment_that_says_what_it_is(path: Path) -> None:
    assert path.read_text("utf-8").startswith("-- ")
