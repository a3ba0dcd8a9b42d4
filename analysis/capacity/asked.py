"""How a question about pools is asked: by replica and one time, or neither.

Owns the columns that such an answer may be grouped by. Refuses others with the nearest one.
"""

from collections.abc import Sequence

from analysis.columns import TIME_COLUMNS, nearest
from analysis.errors import WrongQuestionError

LANE_COLUMNS = ("replica", *TIME_COLUMNS)


def lane_columns(by: Sequence[str]) -> list[str]:
    """The columns of an answer that name its rows: `pool`, then those of `by`."""
    asked = list(dict.fromkeys(column for column in by if column != "pool"))
    for column in asked:
        if column not in LANE_COLUMNS:
            raise WrongQuestionError(
                f"pools are by replica and by one time; not by {column!r}: "
                f"{nearest(column, LANE_COLUMNS)}"
            )
    if sum(column in TIME_COLUMNS for column in asked) > 1:
        raise WrongQuestionError(
            f"cannot group by {' and '.join(asked)} at once; choose one of "
            f"{', '.join(TIME_COLUMNS)}"
        )
    return ["pool", *asked]
