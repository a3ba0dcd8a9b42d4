"""The schema in numbered migrations that are never edited once released, and the views of today.

Owns the order of the migrations. A view that shows columns of several of them is written once, in
`views/`, and made anew after the last. Imports nothing but the standard library, so that anyone may
read the schema without the product.
"""

from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step forward: `version` is its number, `sql` its statements."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """All migrations in ascending version."""
    found = []
    for entry in files("ingest.schema").iterdir():
        if entry.name.endswith(".sql"):
            number, name = entry.name.removesuffix(".sql").split("_", 1)
            found.append(Migration(version=int(number), name=name, sql=entry.read_text("utf-8")))
    return sorted(found, key=lambda migration: migration.version)


def views() -> list[str]:
    """The statements that make the views of the current version, in the order of their names."""
    entries = (files("ingest.schema") / "views").iterdir()
    return [entry.read_text("utf-8") for entry in sorted(entries, key=lambda entry: entry.name)]


def current_version() -> int:
    """The version that this code writes and reads."""
    return migrations()[-1].version
