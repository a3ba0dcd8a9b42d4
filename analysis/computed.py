"""The questions that have no file of their own, because they are computed out of other answers.

Owns the list of them. Each is declared as `FACTS` in the module of its name, `analysis/NAME.py`.
"""

from analysis import (
    anomalies,
    budget,
    explain,
    forecast,
    idle,
    levers,
    preemptions,
    prefix_loss,
    prices,
    siblings,
    volatile_prefixes,
)
from analysis.facts import Facts

COMPUTED: tuple[Facts, ...] = (
    anomalies.FACTS,
    budget.FACTS,
    explain.FACTS,
    forecast.FACTS,
    levers.FACTS,
    idle.FACTS,
    prefix_loss.FACTS,
    volatile_prefixes.FACTS,
    prices.FACTS,
    preemptions.FACTS,
    siblings.FACTS,
)
"""In any order."""
