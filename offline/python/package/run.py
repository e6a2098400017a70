"""A run that was measured, and its tables."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from . import _run
from .frames import Table, module, pick, pick_numbers, table, table_of_rows

if TYPE_CHECKING:
    from .trace import EventTrace

ReadError = _run.ReadError
UsageError = _run.UsageError

# By name of Run.table(): the view of `refrain report`, and the member of its document.
_VIEWS = {
    "callers": ("callers", "callers"),
    "communicators": ("communicators", "communicators_of_job"),
    "efficiency": ("efficiency", "efficiencies"),
    "findings": ("", "findings"),
    "functions": ("flat", "functions"),
    "locations": ("locations", "locations"),
    "modules": ("modules", "modules"),
    "mpi": ("mpi", "mpi_call_sites"),
    "nodes": ("nodes", "nodes"),
    "sizes": ("sizes", "sizes"),
    "source": ("source", "source"),
    "waits": ("waits", "waits"),
}


@dataclass
class Node:
    """A node of the call tree. Values are sums over all locations, in seconds, bytes or 1 (Run.metrics)."""

    number: int
    name: str
    kind: str  # "function", "mpi", "mark" (a loop or region of the program), "other" (time that no function has)
    parent: Node | None = field(default=None, repr=False)
    children: list[Node] = field(default_factory=list, repr=False)
    exclusive: dict[str, float] = field(default_factory=dict, repr=False)
    inclusive: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def path(self) -> list[str]:
        """The names from the outermost caller to this node."""
        return [*(self.parent.path if self.parent and self.parent.parent else []), self.name]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, callers first."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


class Run:
    """An experiment directory. Reads what is asked for, when it is asked for."""

    def __init__(self, path: str | os.PathLike[str]):
        """Raises ReadError."""
        self.path = os.fspath(path)
        self._native = _run.NativeRun(self.path)

    def __repr__(self) -> str:
        return f"refrain.open({self.path!r})"

    @property
    def facts(self) -> dict[str, Any]:
        """program, processes, locations (threads that were measured), directory."""
        return self._native.facts()

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of call paths: name, unit ("s", "B" or "1"), parent (a name or None), help."""
        return self._native.metrics()

    @property
    def locations(self) -> list[dict[str, Any]]:
        """rank, thread, name and host of each thread that was measured."""
        return self._native.locations()

    @property
    def loops(self) -> dict[str, int]:
        """Numbers of iterations by name of the marked loop."""
        return dict(self._native.loops())

    @property
    def damage(self) -> list[str]:
        """What of the files could not be read so far; lines for people."""
        return self._native.damage()

    def table(self, name: str, by: str | None = None, metrics: Sequence[str] | None = None, *, inclusive: bool = False, of: str = "") -> Table:
        """A table of the run: a data frame with a row for each element and columns of one length, int64 or float64 where they are numbers.

        "callpaths": a row for each call path with any value of the chosen metrics, and for each host, rank or thread
        where `by` says so. Columns are node (a number of tree()), path ("main/solve/MPI_Wait"), function, kind; host,
        rank, thread, as far as `by` tells them apart; and a column for each metric, named as it is asked for ("wall", "wall_s" and
        "time" are the same), exclusive or with everything below. Units are those of Run.metrics. Times of functions that are sampled are estimates, whose
        standard errors are in table("functions") and document(); those of MPI are exact. Default: ["wall", "mpi",
        "visits"].

        Others are the tables of `refrain report`, with its names, units and errors (docs/report-format.md): callers and
        source (of which function or file: `of`), communicators, efficiency, findings, functions, locations, modules,
        mpi, nodes, sizes, waits.

        Raises UsageError or ValueError for what there is not.
        """
        if name == "callpaths":
            return self._call_paths(by, ["wall", "mpi", "visits"] if metrics is None else list(metrics), inclusive)
        if name not in _VIEWS:
            raise UsageError(f"there is no table {name}; there are callpaths, {', '.join(_VIEWS)}")
        if by is not None or metrics is not None or inclusive:
            raise UsageError(f"by, metrics and inclusive go with callpaths, not with {name}")
        view, member = _VIEWS[name]
        return table_of_rows(self.document(view, of).get(member, []))

    def _call_paths(self, by: str | None, metrics: list[str], inclusive: bool) -> Table:
        nodes, firsts, values = self._native.call_paths(by or "", [self._metric(name) for name in metrics], inclusive)
        paths, kinds, names = self._paths()
        locations = self.locations
        columns: dict[str, Any] = {"node": nodes, "path": pick(paths, nodes), "function": pick(names, nodes), "kind": pick(kinds, nodes)}
        if by is not None:
            columns["host"] = pick([of["host"] for of in locations], firsts)
        if by in ("rank", "thread"):
            columns["rank"] = pick_numbers([of["rank"] for of in locations], firsts)
        if by == "thread":
            columns["thread"] = pick_numbers([of["thread"] for of in locations], firsts)
        columns.update(zip(metrics, values))
        return table(columns)

    def _metric(self, name: str) -> str:
        """Metrics may be called as reports do, with their unit, and wall time as other tools do."""
        known = {of["name"] for of in self.metrics}
        plain = "wall" if name in ("time", "time_s") else name
        return plain.removesuffix("_s") if plain not in known and plain.removesuffix("_s") in known else plain

    def _paths(self) -> tuple[list[str], list[str], list[str]]:
        parents, kinds, names = self._native.nodes()
        paths: list[str] = []
        for parent, name in zip(parents, names):
            paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
        return paths, kinds, names

    def iterations(self, loop: str = "", metrics: Sequence[str] | None = None) -> Table:
        """A row for each iteration and thread: iteration (from 0), rank, thread, cluster (int64), and a column for each metric
        of iterations (float64: wall_s, mpi_s, user_s in seconds, mpi_calls, bytes_sent, ...), which are exact.
        From iteration 131,072 on, those that are not kept have the mean of their group (docs/iterations.md). `metrics`:
        names with or without units, as ["wall"]; default: all. `loop` may be left out where there is one. NaN: not known of
        this thread. Raises ValueError for a loop or metric that there is not.
        """
        return table(self._native.iterations(loop, None if metrics is None else list(metrics)))

    def findings(self) -> Table:
        """What stands out, largest first: rule, share (of 1), error (standard error of the share), text, ..."""
        return self.table("findings")

    def efficiency(self, region: str = "") -> Table:
        """Efficiencies in the terms of POP: a row for the run, then one for each loop, or for the marked region or
        function. Factors are parts of 1, None (NaN) where they are not known; names with _error are standard errors, left
        out where all are exact; elapsed_s is in seconds. Raises UsageError where there is no such region.
        """
        return table_of_rows(self.document("efficiency", region=region)["efficiencies"])

    def tree(self) -> Node:
        """The root of the call tree; its children are the outermost functions, and its inclusive values the run's."""
        parents, kinds, names = self._native.nodes()
        root = Node(-1, self.facts["program"], "other")
        nodes: list[Node] = []
        for number, (parent, kind, name) in enumerate(zip(parents, kinds, names)):
            above = root if parent < 0 else nodes[parent]
            nodes.append(Node(number, name, kind, above))
            above.children.append(nodes[-1])
        wanted = [of["name"] for of in self.metrics]
        numbers, _, values = self._native.call_paths("", wanted, False)
        for metric, column in zip(wanted, values):
            for number, value in zip(numbers, column):
                nodes[number].exclusive[metric] = value
        for node in (root, *nodes):
            node.exclusive = {metric: node.exclusive.get(metric, 0.0) for metric in wanted}
            node.inclusive = dict(node.exclusive)
        for node in reversed(nodes):
            assert node.parent is not None
            for metric, value in node.inclusive.items():
                node.parent.inclusive[metric] += value
        return root

    def events(self, ranks: Sequence[int] | None = None) -> EventTrace:
        """The events that were kept (refrain.trace); `ranks`: only these. Raises ValueError where there are none."""
        from .trace import EventTrace

        return EventTrace(self.path, ranks)

    def document(self, view: str = "", of: str = "", *, region: str = "") -> dict[str, Any]:
        """The document of `refrain report --format json` with the option --VIEW (docs/report-format.md)."""
        return json.loads(self._native.report(view, of, region))

    def compare(self, now: Run, name: str = "callpaths") -> Table:
        """What changed from this run to another one, as in `refrain report BEFORE NOW --format json`: "callpaths" or
        "iterations", with the errors of differences in seconds; "findings" of both, with a column run, "before" or "now".
        Raises UsageError for another name.
        """
        document = json.loads(self._native.difference(now._native))
        if name == "findings":
            return table_of_rows([{"run": run, **row} for run in ("before", "now") for row in document[f"findings_{run}"]])
        if name not in ("callpaths", "iterations"):
            raise UsageError(f"there is no table {name} of differences; there are callpaths, findings, iterations")
        return table_of_rows(document.get(name, []))

    def query(self, sql: str) -> Table:
        """The result of a statement of SQL (of SQLite) over the tables callpaths (by thread, all metrics), iterations
        (with a column loop), locations, findings, efficiency and functions, in their units. Those that the statement names
        are made. Raises sqlite3.Error for what SQLite refuses.
        """
        words = set(re.findall(r"\w+", sql.lower()))
        with sqlite3.connect(":memory:") as database:
            for name in ("callpaths", "iterations", "locations", "findings", "efficiency", "functions"):
                if name in words:
                    self._add_table(database, name)
            cursor = database.execute(sql)
            names = [of[0] for of in cursor.description or ()]
            rows = cursor.fetchall()
        pandas = module("pandas")
        return [dict(zip(names, row)) for row in rows] if pandas is None else pandas.DataFrame(rows, columns=names)

    def _add_table(self, database: sqlite3.Connection, name: str) -> None:
        if name == "callpaths":
            columns = _columns(self.table(name, by="thread", metrics=[of["name"] for of in self.metrics]))
        elif name == "iterations":
            columns = {}
            for loop in self.loops:
                own = _columns(self.iterations(loop))
                own["loop"] = [loop] * len(own["iteration"])
                _append(columns, own)
        elif name == "locations":
            columns = _columns(table_of_rows(self.locations))
        else:
            columns = _columns(self.table(name))
        if not columns:
            columns = {"nothing": []}
        quoted = ['"' + column.replace('"', '""') + '"' for column in columns]
        database.execute(f"create table {name} ({', '.join(quoted)})")
        marks = ", ".join("?" * len(columns))
        database.executemany(f"insert into {name} values ({marks})", zip(*(map(_of_sql, column) for column in columns.values())))


def _columns(of: Table) -> dict[str, list[Any]]:
    """The columns of a table as lists."""
    if not isinstance(of, list):
        return {str(name): of[name].tolist() for name in of.columns}
    names = dict.fromkeys(name for row in of for name in row)
    return {name: [row.get(name) for row in of] for name in names}


def _append(to: dict[str, list[Any]], more: dict[str, list[Any]]) -> None:
    """Rows with their columns; what one lacks is None."""
    rows = len(next(iter(to.values()), []))
    added = len(next(iter(more.values()), []))
    for name in {**to, **more}:
        to.setdefault(name, [None] * rows).extend(more.get(name, [None] * added))


def _of_sql(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict)) else value
