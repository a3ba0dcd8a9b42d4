"""The SQL of this folder, by file name.

Owns nothing but the reading of its neighbours. Refuses parameters inside the text: values are
bound where a statement runs.
"""

from functools import cache
from importlib import resources


@cache
def statement(name: str) -> str:
    """The text of `simulator/NAME.sql`."""
    return resources.files("simulator").joinpath(f"{name}.sql").read_text("utf-8")
