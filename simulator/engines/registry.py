"""The engines by name; where a new adapter gets its line.

Owns the list. Refuses nothing: an adapter whose package is absent says so when it is made.
"""

from collections.abc import Callable, Mapping

from simulator.cpus import CpuSplit
from simulator.engines.engine import Engine
from simulator.engines.llamacpp import LlamaCpp


def _llamacpp(cpus: CpuSplit) -> Engine:
    return LlamaCpp(cpus.engine)


ENGINES: Mapping[str, Callable[[CpuSplit], Engine]] = {LlamaCpp.name: _llamacpp}
"""Name to a function that gives the adapter for a split of the processors."""
