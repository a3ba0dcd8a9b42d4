"""A table that is too wide for a terminal, as records: a block a row, a line a cell.

Owns the layout. Refuses to leave a cell out, and to write past the width where a word of it fits.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells

GAP, BETWEEN = 2, 3
"""Characters between a name and its cell, and between two columns of these."""
LEAST_CELL_WIDTH = 8
RULE = "─"

Pair = tuple[str, str]


def record_lines(texts: Mapping[str, Sequence[str]], width: int, widest_cell: int) -> Iterator[str]:
    """The rows of `texts`, cells by name of their column, as lines of at most `width` characters.

    The cells of a row stand in as many columns as fit, filled from the top down; one that is wider
    than `widest_cell`, or than the room, goes on in the next line.
    """
    names = list(texts)
    room = max(LEAST_CELL_WIDTH, width - max(map(cell_len, names)) - GAP)
    most = min(widest_cell, room)
    widths = {
        name: min(most, max(map(cell_len, cells), default=0)) for name, cells in texts.items()
    }
    columns = _columns(names, widths, width)
    rows = list(zip(*texts.values(), strict=True))
    for number, row in enumerate(rows, 1):
        heading = f"{RULE * 2} {number:,} of {len(rows):,} "
        yield heading + RULE * max(0, width - len(heading))
        cells = dict(zip(names, row, strict=True))
        blocks = [_block(column, cells, widths) for column in columns]
        for line in zip_longest(*blocks):
            parts = [
                part if part is not None else " " * _width(column, widths)
                for part, column in zip(line, columns, strict=True)
            ]
            yield (" " * BETWEEN).join(parts).rstrip()


def _columns(names: Sequence[str], widths: Mapping[str, int], width: int) -> list[list[str]]:
    """The names in the most columns that fit into `width`; one where two do not."""
    for count in range(len(names), 1, -1):
        height = -(-len(names) // count)
        columns = [list(names[at : at + height]) for at in range(0, len(names), height)]
        used = sum(_width(column, widths) for column in columns) + BETWEEN * (len(columns) - 1)
        if used <= width:
            return columns
    return [list(names)]


def _width(column: Sequence[str], widths: Mapping[str, int]) -> int:
    return max(map(cell_len, column)) + GAP + max(widths[name] for name in column)


def _block(column: Sequence[str], cells: Mapping[str, str], widths: Mapping[str, int]) -> list[str]:
    """The lines of one column of a record, all of one width."""
    named = max(map(cell_len, column))
    widest = max(widths[name] for name in column)
    lines = []
    for name in column:
        for place, part in enumerate(chop_cells(cells[name], max(1, widest)) or [""]):
            label = name if place == 0 else ""
            lines.append(
                label + " " * (named - cell_len(label) + GAP)
                + part + " " * (widest - cell_len(part))
            )  # fmt: skip
    return lines
