"""The engines by name; where a new adapter gets its line.

Owns the list. Refuses nothing: an adapter whose package is absent says so when it is made.
"""

from collections.abc import Callable, Mapping

from simulator.engines.engine import Engine
from simulator.engines.llamacpp import LlamaCpp

ENGINES: Mapping[str, Callable[[], Engine]] = {LlamaCpp.name: LlamaCpp}
"""Name to what makes the adapter."""
