"""What was found of a text is found once, as long as it is asked for."""

from ingest.counting.remembered import Remembered


def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    looked_for: list[str] = []

    def find(name: str) -> str:
        looked_for.append(name)
        return name.upper()

    memory: Remembered[str] = Remembered(2)
    told = [memory.found(name.encode(), lambda name=name: find(name)) for name in "abacab"]
    assert told == ["A", "B", "A", "C", "A", "B"]
    assert looked_for == ["a", "b", "c", "b"]
