"""The tables of a database and the columns of one.

Owns the search for a table by name. Refuses a name that no table has, with the nearest.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import ARRAY, JSON, LargeBinary, TypeEngine

from ingest.databases.errors import DatabaseSourceError, told
from ingest.databases.opening import Snapshot
from ingest.readers.mapping_file import nearest

SYSTEM_SCHEMAS = frozenset(
    {"information_schema", "pg_catalog", "mysql", "performance_schema", "sys"}
)


@dataclass(frozen=True)
class Shape:
    """One table or view: its columns with their types, and its primary key."""

    name: str
    schema: str | None
    types: dict[str, TypeEngine[Any]]
    primary_key: tuple[str, ...]
    backend: str

    @property
    def shown(self) -> str:
        """The name as an address shows it."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @cached_property
    def table(self) -> sa.TableClause:
        """The table for statements: values come as the driver gives them, bounds as typed."""
        return sa.table(
            self.name,
            *(sa.column(name, self._bound_type(kind)) for name, kind in self.types.items()),
            schema=self.schema,
        )

    def _bound_type(self, kind: TypeEngine[Any]) -> TypeEngine[Any]:
        """The type that bounds are sent with; SQLite has values as they were put in."""
        is_plain = isinstance(kind, sa.DateTime | sa.Date | sa.Numeric | sa.Integer | sa.String)
        if self.backend == "sqlite" or not is_plain or isinstance(kind, sa.Float):
            return sa.types.NullType()
        return kind

    def is_scalar(self, name: str) -> bool:
        """Whether a null of the column is a null in Python, too: JSON has one of its own."""
        return not isinstance(self.types[name], JSON | ARRAY | LargeBinary)

    def may_be_endless(self, name: str) -> bool:
        """Whether the column holds times of which one may be later than every other."""
        kind = self.types[name]
        return self.backend == "postgresql" and isinstance(kind, sa.DateTime | sa.Date)

    def is_whole(self, name: str) -> bool:
        """Whether the column holds integers."""
        return isinstance(self.types[name], sa.Integer)


def shape_of(snapshot: Snapshot, name: str) -> Shape:
    """The table called `name`, with or without its schema.

    Raises `DatabaseSourceError` with the tables that are there.
    """
    known = table_names(snapshot)
    for schema, table in _meant(name, known, _default_schema(snapshot)):
        if (schema, table) in known:
            return _shape(snapshot, schema, table)
    shown = [table if schema is None else f"{schema}.{table}" for schema, table in known]
    hint = nearest(name, shown) if shown else "it has no table that this user may see"
    raise DatabaseSourceError(snapshot.address, f"there is no table {name!r}; {hint}")


def table_names(snapshot: Snapshot) -> list[tuple[str | None, str]]:
    """Schema and name of each table and view; those of the default schema first, without it."""
    try:
        inspector = sa.inspect(snapshot.connection)
        found: list[tuple[str | None, str]] = [
            (None, name) for name in sorted(_of_schema(inspector, None))
        ]
        for schema in sorted(inspector.get_schema_names()):
            if schema not in SYSTEM_SCHEMAS and schema != inspector.default_schema_name:
                found += [(schema, name) for name in sorted(_of_schema(inspector, schema))]
    except SQLAlchemyError as error:
        raise told(snapshot.address, error) from None
    return found


def _of_schema(inspector: sa.Inspector, schema: str | None) -> set[str]:
    """Tables and views, those included whose rows are stored."""
    views = set(inspector.get_view_names(schema))
    if inspector.dialect.name == "postgresql":
        views |= set(inspector.get_materialized_view_names(schema))
    return set(inspector.get_table_names(schema)) | views


def _meant(
    name: str, known: list[tuple[str | None, str]], default_schema: str | None
) -> list[tuple[str | None, str]]:
    """What a name may mean: a table of the default schema, SCHEMA.TABLE, one of any schema."""
    schema, _, table = name.rpartition(".")
    elsewhere = [entry for entry in known if entry[1] == name]
    return [
        (None, name),
        (None if schema == default_schema else schema or None, table),
        *(elsewhere if len(elsewhere) == 1 else []),
    ]


def _default_schema(snapshot: Snapshot) -> str | None:
    return sa.inspect(snapshot.connection).default_schema_name


def _shape(snapshot: Snapshot, schema: str | None, name: str) -> Shape:
    try:
        inspector = sa.inspect(snapshot.connection)
        columns = inspector.get_columns(name, schema)
        key = inspector.get_pk_constraint(name, schema).get("constrained_columns", [])
    except SQLAlchemyError as error:
        raise told(snapshot.address, error) from None
    types = {column["name"]: column["type"] for column in columns}
    return Shape(name, schema, types, tuple(key), snapshot.backend)
