"""Views of one call that were told apart, found in the ledger and joined there.

Owns `call_views`, and when its groups are made and parted. Refuses to depend on what came first:
whatever a delivery changes is decided anew from all views around it, each as it was told.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import pyarrow as pa

from ingest.calls.grouping import Group, Pair, Told, components, groups
from ingest.calls.joining import joined_call
from ingest.calls.timing import NS_PER_S
from ingest.ledger import Connection
from ingest.records import Call
from ingest.store.arrow import append
from ingest.store.calls import CALL_ID_PREFIX, CallStage, call_id_of, merge_calls
from ingest.store.deliveries import MergeCounts
from ingest.store.statements import statement

LONGEST_NS = 900 * NS_PER_S
"""Calls that take longer are not joined: it bounds how far around a change one has to look."""
SLACK_NS = 1 * NS_PER_S
"""What the clocks of two machines may differ by, where an id says that they saw one call."""
REACH_NS = 4 * LONGEST_NS
"""A pair depends on calls that overlap calls that overlap it; none of them is further off.

What hangs together with more is looked at in further rounds, each as far.
"""


def merge_linked_calls(connection: Connection, calls: CallStage) -> MergeCounts:
    """As `merge_calls`, and the views that are of one call are joined, or parted again."""
    linking = Linking(connection, calls)
    linking.part()
    counts = merge_calls(connection, once_compared=linking.note_changes)
    linking.join()
    return counts


@dataclass(slots=True)
class Linking:
    """The links of one delivery, in three steps around the merge of its calls."""

    connection: Connection
    calls: CallStage

    def part(self) -> None:
        """Before calls are compared: views that the delivery tells anew stand alone again."""
        self.connection.execute(statement("links_begin"))
        self.connection.execute(statement("links_touched"))
        if self.connection.execute("select 1 from broken_groups limit 1").fetchall():
            self._break()

    def note_changes(self) -> None:
        """After the comparison, before it is carried out: what decides about links and changes."""
        self.connection.execute(statement("links_changed"), {"longest_ns": LONGEST_NS})

    def join(self) -> None:
        """After the merge: decide about all views around what changed."""
        stretch = self._stretch()
        if stretch is not None:
            found, wrong = self._decided(stretch)
            if wrong:
                self._mark("broken_groups", [(call_id,) for call_id in wrong], ("call_id",))
                self._break()
            if found:
                self._link(found)
        self.connection.execute(statement("links_end"))

    def _break(self) -> None:
        self.connection.execute(statement("calls_number"))
        self.connection.execute(statement("links_break"))
        self.connection.execute(statement("calls_number"))

    def _stretch(self) -> dict[str, int] | None:
        """From when to when the views end that a change may concern; None where none changed."""
        ((begun_at, ended_at),) = self.connection.execute(statement("links_extent")).fetchall()
        if begun_at is None:
            return None
        return {"since": begun_at - REACH_NS, "until": ended_at + REACH_NS}

    def _decided(self, stretch: dict[str, int]) -> tuple[list[Group], set[str]]:
        """The groups that are to be made, and those in the ledger that do not hold any more."""
        pairs = self._pairs(stretch)
        told, decided, held = self._told(pairs)
        while self._reaches_further(pairs, decided, held.values()):
            stretch = self._stretch() or stretch
            pairs = self._pairs(stretch)
            told, decided, held = self._told(pairs)
        made = [group for group in groups(pairs, told) if group.members & decided]
        concerned = decided.union(*(group.members for group in made))
        standing = {counted: members for counted, members in held.items() if members & concerned}
        right = {group.members for group in made}
        wrong = {counted for counted, members in standing.items() if members not in right}
        kept = {members for counted, members in standing.items() if counted not in wrong}
        return [group for group in made if group.members not in kept], wrong

    def _pairs(self, stretch: dict[str, int]) -> list[Pair]:
        """The pairs among the views that have an id or counts of a changed call."""
        self.connection.execute(statement("links_candidates"), stretch)
        terms = {"longest_ns": LONGEST_NS, "slack_ns": SLACK_NS}
        self.connection.execute(statement("links_evidence"), stretch | terms)
        by_id = self.connection.execute(statement("links_by_id"), {"slack_ns": SLACK_NS}).fetchall()
        alike = self.connection.execute(statement("links_by_resemblance")).fetchall()
        return [Pair(*row) for row in by_id + alike]

    def _reaches_further(
        self, pairs: Sequence[Pair], decided: set[str], held: Iterable[frozenset[str]]
    ) -> bool:
        """Whether views that hang together with decided ones have ids or counts not looked at.

        They are looked at from now on: a group depends on all pairs that its views could make.
        """
        edges = [(pair.first, pair.second) for pair in pairs]
        edges += [(view, other) for views in held for view, other in pairwise(sorted(views))]
        reached = [part for part in components(edges) if part & decided]
        self._mark("paired_views", [(view,) for part in reached for view in part], ("call_id",))
        return bool(self.connection.execute(statement("links_widen")).fetchall())

    def _told(
        self, pairs: Sequence[Pair]
    ) -> tuple[dict[str, Told], set[str], dict[str, frozenset[str]]]:
        """Views of pairs; the views that are decided anew; the groups as the ledger has them."""
        paired = [(view,) for view in {view for pair in pairs for view in pair[:2]}]
        self._mark("paired_views", paired, ("call_id",))
        told: dict[str, Told] = {}
        decided: set[str] = set()
        held: dict[str, set[str]] = {}
        for row in self.connection.execute(statement("links_told")).fetchall():
            call_id, observer, response_id, is_decided, counted_as = row
            if observer is not None:
                told[call_id] = Told(observer, response_id)
            if is_decided:
                decided.add(call_id)
            if counted_as is not None:
                held.setdefault(counted_as, set()).add(call_id)
        return told, decided, {counted: frozenset(views) for counted, views in held.items()}

    def _link(self, found: Sequence[Group]) -> None:
        group_of = {view: group for group in found for view in group.members}
        self._mark("linked_views", [(view,) for view in group_of], ("call_id",))
        members: dict[Group, list[Call]] = {}
        for view in _views(self.connection):
            members.setdefault(group_of[call_id_of(view.identity)], []).append(view)
        joined = {group: joined_call(views, group.rule) for group, views in members.items()}
        self.connection.execute("delete from staged_calls")
        self.calls.add(list(joined.values()), is_derived=False)
        self.connection.execute(statement("cohorts_merge"))
        links = [
            (view, call_id_of(call.identity), group.rule)
            for group, call in joined.items()
            for view in group.members
        ]
        self._mark("linked_views", links, ("call_id", "counted_as", "rule"))
        self.connection.execute(statement("calls_number"))
        self.connection.execute(statement("links_apply"))
        self.connection.execute(statement("calls_number"))

    def _mark(self, table: str, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> None:
        """Rows of texts become the temp table `table`."""
        arrays = [pa.array([row[at] for row in rows], pa.string()) for at in range(len(columns))]
        append(self.connection, statement(f"{table}_mark"), pa.table(arrays, names=list(columns)))


def _views(connection: Connection) -> list[Call]:
    """The views in `linked_views`, whose identity is their `call_id`."""
    rows = connection.sql(statement("links_views")).to_arrow_table().to_pylist()
    known = {field.name for field in fields(Call)}
    return [
        _call({name: value for name, value in row.items() if name in known}, row) for row in rows
    ]


def _call(columns: dict[str, object], row: dict[str, object]) -> Call:
    first = row["retry_of"]
    columns |= {
        "identity": f"{CALL_ID_PREFIX}{row['call_id']}",
        "retry_of": None if first is None else f"{CALL_ID_PREFIX}{first}",
        **{name: tuple(value) for name, value in columns.items() if isinstance(value, list)},
    }
    return Call(**columns)  # type: ignore[arg-type]  # the ledger's columns are those of a call
