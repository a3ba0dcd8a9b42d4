"""What can go wrong in a replay, with evidence and what to do next.

Owns the root error of the package, a `LedgerError`, so that the command line exits with 4. Refuses
a message without the figure or the log lines that show the cause.
"""

from ingest.errors import LedgerError


class SimulatorError(LedgerError):
    """A replay that cannot start or cannot be trusted."""


class TraceError(SimulatorError):
    """A trace that cannot be replayed as it is."""


class ModelFileError(SimulatorError):
    """The model file of the embedded engine cannot be had."""


class EngineError(SimulatorError):
    """An engine that does not start, does not answer, died, or runs with other flags."""


class ReplayError(SimulatorError):
    """A pass whose figures would be wrong: late sends, wrong lengths, failed requests."""


class LateSendError(ReplayError):
    """A pass whose requests left late: the machine was busy, and another try may do."""


class WrongFlagError(SimulatorError):
    """An engine flag that does not exist, or a value it cannot take."""
