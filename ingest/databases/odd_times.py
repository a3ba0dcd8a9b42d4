"""Times of PostgreSQL that no `datetime` can hold: without end, before Christ, after the year 9999.

Owns their reading as text, so that the row that has one is rejected by itself. Refuses to let one
value end the reading of a table.
"""

from typing import Any

from psycopg import Connection, DataError
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader


class _Date(DateLoader):
    def load(self, data: Any) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class _Timestamp(TimestampLoader):
    def load(self, data: Any) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


class _Timestamptz(TimestamptzLoader):
    def load(self, data: Any) -> Any:
        try:
            return super().load(data)
        except DataError:
            return bytes(data).decode()


def read_odd_times_as_text(connection: Connection[Any]) -> None:
    """Have `connection` give the text of a time that it cannot hold, in place of an error."""
    connection.adapters.register_loader("date", _Date)
    connection.adapters.register_loader("timestamp", _Timestamp)
    connection.adapters.register_loader("timestamptz", _Timestamptz)
