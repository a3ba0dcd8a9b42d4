"""Charts of the report's page as inline SVG, without a script and without a library.

Owns the pictures of the page. Refuses text that is not escaped, and colours outside the
page's style sheet or the palette.
"""

from collections.abc import Sequence
from html import escape

from dashboard.lines import IDLE_LABEL
from dashboard.palette import colours_of
from dashboard.series import OTHERS, SpendByDay
from dashboard.wording import shortened

WIDTH = 920
SPEND_HEIGHT = 260
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 12, 26
EFFECT_SPAN, EFFECT_HEIGHT = 100, 16
GRID_STEPS = 4


def spend_svg(spend: SpendByDay) -> str:
    """Stacked bars of the cost by day, as an SVG element with a title for each piece."""
    days = spend.frame["day"].unique().sort().to_list()
    cells = {(day, label): float(cost) for day, label, cost in spend.frame.iter_rows()}
    heights = [sum(cells.get((day, label), 0.0) for label in spend.labels) for day in days]
    top_value = rounded_up(max(heights, default=0.0))
    colours = colours_of(spend.labels, without_hue=(IDLE_LABEL, OTHERS))
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(days))
    plot_height = SPEND_HEIGHT - TOP - BOTTOM
    pieces = [_grid(top_value)]
    for index, day in enumerate(days):
        x = LEFT + index * slot
        y = float(SPEND_HEIGHT - BOTTOM)
        for label in spend.labels:
            cost = cells.get((day, label), 0.0)
            height = plot_height * cost / top_value
            y -= height
            pieces.append(
                f'<rect x="{x + slot * 0.1:.1f}" y="{y:.1f}" width="{slot * 0.8:.1f}" '
                f'height="{height:.1f}" fill="{colours[label]}"><title>'
                f"{escape(label)}, {day.isoformat()}: {cost:,.2f} {escape(spend.currency)}"
                "</title></rect>"
            )
        if index % max(1, len(days) // 10) == 0:
            pieces.append(
                f'<text class="tick" text-anchor="middle" x="{x + slot / 2:.1f}" '
                f'y="{SPEND_HEIGHT - 8}">{day.day}</text>'
            )
    return _svg(SPEND_HEIGHT, f"Cost by day, {spend.currency}, {spend.window_text}", pieces)


def legend_html(spend: SpendByDay) -> str:
    """The labels of `spend` with their colours, as list items."""
    colours = colours_of(spend.labels, without_hue=(IDLE_LABEL, OTHERS))
    return "".join(
        f'<li><span class="swatch" style="background:{colours[label]}"></span>'
        f"{escape(shortened(label))}</li>"
        for label in spend.labels
    )


def effect_svg(cost: float, largest: float) -> str:
    """One bar: to the left where money was saved, to the right where more was spent.

    `largest` is the size of the longest bar, so that the bars of a table compare.
    """
    length = EFFECT_SPAN * abs(cost) / largest if largest else 0.0
    x = EFFECT_SPAN if cost >= 0 else EFFECT_SPAN - length
    kind = "more" if cost >= 0 else "less"
    return (
        f'<svg class="effect" viewBox="0 0 {2 * EFFECT_SPAN} {EFFECT_HEIGHT}" aria-hidden="true">'
        f'<rect class="{kind}" x="{x:.1f}" y="2" width="{length:.1f}" '
        f'height="{EFFECT_HEIGHT - 4}"></rect>'
        f'<path class="axis" d="M{EFFECT_SPAN} 0V{EFFECT_HEIGHT}"/></svg>'
    )


def rounded_up(value: float) -> float:
    """The next of 1, 2, 2.5 or 5 times a power of ten that is not below `value`; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** len(f"{int(value)}") / 10 if value >= 1 else 1.0
    while power > value:
        power /= 10
    return next(power * step for step in (1, 2, 2.5, 5, 10) if power * step >= value)


def _grid(top_value: float) -> str:
    plot_height = SPEND_HEIGHT - TOP - BOTTOM
    lines = []
    for step in range(GRID_STEPS + 1):
        y = SPEND_HEIGHT - BOTTOM - plot_height * step / GRID_STEPS
        lines.append(
            f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            f'<text class="tick" text-anchor="end" x="{LEFT - 8}" y="{y + 4:.1f}">'
            f"{top_value * step / GRID_STEPS:,.6g}</text>"
        )
    return "".join(lines)


def _svg(height: int, title: str, pieces: Sequence[str]) -> str:
    return (
        f'<svg class="spend" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">'
        f"{''.join(pieces)}</svg>"
    )
