"""Which requests find an answer: against a walk that takes one after the other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import reuse
from analysis.reuse import NO_SOURCE, Requests, sources

REQUEST = st.tuples(
    st.integers(0, 4), st.integers(0, 40), st.integers(0, 9), st.integers(0, 15), st.booleans()
)


def walked(requests: list[Any]) -> list[int]:
    """The oracle: what is computed is remembered until its answer is gone."""
    found: list[int] = []
    source, group = None, None
    for place, (of_group, begun, _, _, is_answered) in enumerate(requests):
        if of_group != group:
            source, group = None, of_group
        if source is not None and begun >= closes(requests[source]):
            source = None
        is_found = source is not None and begun >= opens(requests[source])
        found.append(source if is_found and source is not None else NO_SOURCE)
        if source is None and is_answered:
            source = place
    return found


def opens(request: Any) -> int:
    return int(request[1] + request[2])


def closes(request: Any) -> int:
    return int(opens(request) + request[3])


def columns(requests: list[Any]) -> Requests:
    return Requests(
        groups=np.array([one[0] for one in requests], dtype=np.int64),
        begun_at=np.array([one[1] for one in requests], dtype=np.int64),
        opens_at=np.array([opens(one) for one in requests], dtype=np.int64),
        closes_at=np.array([closes(one) for one in requests], dtype=np.int64),
        is_answered=np.array([one[4] for one in requests], dtype=bool),
    )


@pytest.mark.parametrize("few_groups", [0, 2, 64])
@settings(max_examples=150, deadline=None)
@given(given_requests=st.lists(REQUEST, max_size=40))
def test_steps_of_all_groups_at_once_find_what_a_walk_finds(
    few_groups: int, given_requests: list[Any]
) -> None:
    requests = sorted(given_requests, key=lambda one: one[:2])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reuse, "FEW_GROUPS", few_groups)
        assert sources(columns(requests)).tolist() == walked(requests)
