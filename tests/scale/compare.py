"""Compares the reports of two builds of `refrain`, figure by figure.

    tests/scale/compare.py OLD_REFRAIN NEW_REFRAIN [EXPERIMENT...]

All views of all experiments are printed by both programs in all formats. Each difference is listed with the rule of RULES that
explains it; the exit status is 1 when one has no rule. Without an EXPERIMENT, those of compared_experiments.py are made by
OLD_REFRAIN, in a directory that is removed at the end (--keep: it stays; --only NAME: experiments whose name contains NAME).

A difference counts only where each program agrees with itself: what one of them prints twice in different ways depends on the load
of the machine, and is listed as "unsteady".
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compared_experiments import clean_environment, make_all  # noqa: E402

FORMATS = ("text", "json", "csv", "markdown")
LONGEST_REPORT_S = 600
MOST_SHOWN = 8  # differences of one class and place that are shown; all are counted


@dataclass(frozen=True)
class Rule:
    """An intended difference."""

    kind: str  # truer: a figure that was wrong; wording; order; added; removed; rounding
    where: str  # regular expression over "VIEW FORMAT PLACE"; PLACE is a path in JSON, a column of CSV, "line" else
    pattern: str  # regular expression over "OLD -> NEW"
    reason: str
    within: tuple[float, float] | None = None  # numbers that differ by no more than the first, or by no more than this part of themselves
    experiments: str = ""  # regular expression over names: of these alone


# Files of older versions, written by tests: they last 2.5 ms, and some of their numbers are as large as fit 64 bits.
MADE_UP_FILES = r"^(events|profile)-[\d.]+$"

# Rows are added by whoever changes what is shown, and go when OLD_REFRAIN shows it, too.
RULES: list[Rule] = [
    Rule("rounding", r" (json|csv) ", "", "times are integers of nanoseconds, and sums of these", within=(3e-9, 2e-6)),
    Rule("rounding", r" (json|csv) \S*share$", "", "of such times", within=(1e-7, 0)),
    Rule("truer", r" (json|csv) \S*standard_error_s$", "", "shares are multinomial within a location: errors are made there, and their variances add"),
    Rule("truer", r"^difference (json|csv) \S*(low_s|high_s)$", "", "intervals are as wide as these errors"),
    Rule("order", r" (json|csv) \S*order$", "", "call paths come in preorder"),
    Rule("order", r" json \S*\.(parent|id)$", "", "call paths come in preorder"),
    Rule("rounding", r" (json|csv) \S*wait_confidence$", "", "the part that was seen of calls that take nanoseconds", within=(2e-3, 0)),
    Rule("truer", r"^\S.* \S+ (exit|stderr|\.damage\[\])$", r"(^0 -> 4|iterations of rank \d+ are missing|elements)$",
         "the first page looks at loops: what of these is missing is told"),
    Rule("rounding", r" (text|markdown) line$", "", "of integers of nanoseconds, errors within locations, and preorder; figures are compared in JSON and CSV"),
    Rule("truer", r" (json|csv) \S*(wait_error_s|wait_confidence|findings\[\]\.standard_error|serialisation(_error)?|transfer(_error)?)$", "",
         "errors of waits come from replicates, which sums add one by one"),
    Rule("rounding", r" (json|csv) \S*wait_method$", r"^events -> sampled$", "nearly all time of calls was seen, and they take nanoseconds"),
    Rule("truer", r" \S+ (stderr|\.damage\[\])$", r"^\(none\) -> .*what call paths of rank \d+ have in iterations and",
         "units of loops are looked at: what of these is missing is told"),
    Rule("added", r"^difference \S+ (stderr|\.notes|\.(before|now)\.(why|ranks_expected|saw_whole))$", r"^\(none\) -> ",
         "the difference of two runs tells what each of them lacks"),
    Rule("truer", r"^(locations|flat|mpi) (json|csv) \S*(visits|(bytes|messages)_(sent|received)|mean_bytes)$", "",
         "sums of numbers beyond 63 bits stay at another place: integers are added in another order, and are not cut at 9e18", experiments=MADE_UP_FILES),
    Rule("order", r" json \S*\.clusters\[\]\.apart\[\]\.(metric|path\[\]|(cluster|loop)_mean)$", "",
         "sums of numbers near 2^63 lose digits at another place, and what sets clusters apart is sorted by them", experiments=MADE_UP_FILES),
    Rule("order", r"^mpi (json|csv) \S*path(\[\])?$", "",
         "a call site is shown by its call path with the most time: of several that have none it is the first, in preorder", experiments=MADE_UP_FILES),
    Rule("order", r" (json \S*findings\w*\[\]\.path\[\]|csv path)$", "",
         "a finding names the largest of its call paths: of several with as many as fit it is the first, in preorder", experiments=MADE_UP_FILES),
    Rule("rounding", r" (json|csv) \S*(share|of_function)$", "", "a nanosecond is more than a millionth of such runs", within=(5e-6, 0),
         experiments=MADE_UP_FILES),
    Rule("rounding", r" (json|csv) \S*_s$", "", "sums over call paths, each of integers of nanoseconds", within=(1e-8, 0), experiments=MADE_UP_FILES),
]
UNSTEADY = "unsteady"


@dataclass(frozen=True)
class Difference:
    place: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.place}: {self.old} -> {self.new}"


@dataclass
class Output:
    code: int
    out: str
    errors: str


def short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."


# ---- what can be asked for ----

def views_of(refrain: Path, directory: Path) -> dict[str, list[str]]:
    """Name of each view, and the words that ask for it. Some are asked about the function with the largest time of its own, and
    about the source file that it is in."""
    views = {"calltree": [], "all": ["--min-share", "0"]}
    views |= {name: [f"--{name}"] for name in ("flat", "iterations", "clusters", "windows", "locations", "events", "findings", "waits",
                                               "mpi", "modules", "sizes", "nodes", "communicators", "callsites")}
    views |= {"one rank": ["--rank", "0"], "one iteration": ["--iteration", "5"], "one cluster": ["--cluster", "0", "--rank", "0"],
              "shallow": ["--callpath-depth", "2"], "not folded": ["--fold", "none"], "user time": ["--locations", "--metric", "user"],
              "iterations of user time": ["--iterations", "--metric", "user"]}
    found = run(refrain, directory, ["report", "experiment", "--callsites", "--format", "json"])
    try:
        paths = [path for path in json.loads(found.out)["callpaths"] if path["kind"] == "user" and path["path"]]
    except (ValueError, KeyError):
        return views
    if largest := max(paths, key=lambda path: path["exclusive_s"], default=None):
        views |= {"callers": ["--callers", largest["path"][-1]],
                  "below": ["--locations", "--callpath", largest["path"][-1]],
                  "iterations below": ["--iterations", "--callpath", largest["path"][-1]]}
        if largest.get("file"):
            views["source"] = ["--source", largest["file"]]
    return views


def run(refrain: Path, directory: Path, words: list[str]) -> Output:
    """Runs in a directory in which the experiment is called "experiment", so that messages have the same names in them."""
    try:
        done = subprocess.run([str(refrain), *words], cwd=directory, capture_output=True, env=clean_environment({"COLUMNS": "160"}),
                              timeout=LONGEST_REPORT_S)
    except subprocess.TimeoutExpired:
        return Output(-1, "", f"stopped after {LONGEST_REPORT_S} s")
    return Output(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


# ---- differences ----

NAMES_OF_ROWS = ("path", "function", "module", "file")
IN_ORDER, IN_ANOTHER = "in one order", "in another"


def by_path(paths: list[Any]) -> list[tuple[Any, int]]:
    """A key for each of these rows: its path, and how many rows before it have the same."""
    seen: Counter[str] = Counter()
    keys = []
    for path in map(str, paths):
        keys.append((path, seen[path]))
        seen[path] += 1
    return keys


def in_step(old: list[Any], new: list[Any], path_of: Any) -> tuple[list[tuple[Any, Any]], bool]:
    """Rows beside each other, those of one call path where both have the same call paths, and whether these are in the same order."""
    olds, news = by_path([path_of(row) for row in old]), by_path([path_of(row) for row in new])
    if olds == news or set(olds) != set(news):
        return list(zip(old, new)), True
    of_new = dict(zip(news, new))
    return [(row, of_new[key]) for key, row in zip(olds, old)], False


def of_json(old: Any, new: Any, place: str = "") -> Iterator[Difference]:
    """A path of members; of elements of lists the number is left out of the place, and is in what is shown."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key not in new or key not in old:
                yield Difference(f"{place}.{key}", short(old[key]) if key in old else "(none)", short(new[key]) if key in new else "(none)")
            else:
                yield from of_json(old[key], new[key], f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Difference(f"{place}[]", f"{len(old)} elements", f"{len(new)} elements")
        pairs, is_ordered = list(zip(old, new)), True
        for key in NAMES_OF_ROWS:
            if all(isinstance(row, dict) and key in row for row in (*old, *new)):
                pairs, is_ordered = in_step(old, new, lambda row: row[key])
                break
        if not is_ordered:
            yield Difference(f"{place}[].order", IN_ORDER, IN_ANOTHER)
        for one, other in pairs:
            yield from of_json(one, other, f"{place}[]")
    elif old != new or type(old) is not type(new):
        yield Difference(place, short(old), short(new))


def of_csv(old: str, new: str) -> Iterator[Difference]:
    rows = [list(csv.reader(io.StringIO(text))) for text in (old, new)]
    heads = [part[0] if part else [] for part in rows]
    if heads[0] != heads[1] or len(rows[0]) != len(rows[1]):
        yield from of_lines(old, new)
        return
    pairs, is_ordered = list(zip(*rows)), True
    if key := next((key for key in NAMES_OF_ROWS if key in heads[0]), None):
        pairs, is_ordered = in_step(*rows, lambda row: row[heads[0].index(key)] if len(row) == len(heads[0]) else "")
    if not is_ordered:
        yield Difference("order", IN_ORDER, IN_ANOTHER)
    for one, other in pairs:
        for column, before, now in zip(heads[0], one, other):
            if before != now:
                yield Difference(column, short(before), short(now))


def of_lines(old: str, new: str) -> Iterator[Difference]:
    """Lines that differ, at the same place of a change beside each other."""
    before, now = old.splitlines(), new.splitlines()
    if len(before) == len(now):
        yield from (Difference("line", short(one), short(other)) for one, other in zip(before, now) if one != other)
        return
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for i in range(max(b - a, d - c)):
            yield Difference("line", short(before[a + i]) if a + i < b else "(none)", short(now[c + i]) if c + i < d else "(none)")


def of_outputs(old: Output, new: Output, form: str) -> list[Difference]:
    found = []
    if old.code != new.code:
        found.append(Difference("exit", str(old.code), str(new.code)))
    found += [Difference("stderr", each.old, each.new) for each in of_lines(old.errors, new.errors)]
    if old.out == new.out:
        return found
    if form == "json":
        try:
            return found + list(of_json(json.loads(old.out), json.loads(new.out)))
        except ValueError:
            pass  # one of them is an error without a document
    return found + list(of_csv(old.out, new.out) if form == "csv" else of_lines(old.out, new.out))


def rule_of(experiment: str, view: str, form: str, difference: Difference) -> Rule | None:
    where, what = f"{view} {form} {difference.place}", f"{difference.old} -> {difference.new}"
    return next((rule for rule in RULES if re.search(rule.experiments, experiment) and re.search(rule.where, where) and
                 re.search(rule.pattern, what) and (rule.within is None or are_within(difference, *rule.within))), None)


def are_within(difference: Difference, most: float, most_part: float) -> bool:
    try:
        old, new = float(difference.old), float(difference.new)
        return abs(old - new) <= max(most, most_part * abs(old))
    except ValueError:
        return False


# ---- the comparison ----

class Comparison:
    def __init__(self, old: Path, new: Path):
        self.old, self.new = old, new
        self.outputs = self.equal = 0
        self.counts: Counter[tuple[str, str]] = Counter()  # by class and place
        self.unexplained = 0

    def look_at(self, experiment: Path, other: Path) -> None:
        """`other`: what the experiment is compared with in the view of a difference."""
        with tempfile.TemporaryDirectory(prefix="compare-", dir=experiment.parent) as scratch:
            places = [Path(scratch) / "old", Path(scratch) / "new"]
            # Each program searches for itself: what another version has kept is not of its rules, or was found before files were damaged.
            without_kept = shutil.ignore_patterns("analysis-*", "pools-*")
            for place in places:  # a report may write into an experiment
                for name, source in (("experiment", experiment), ("other", other)):
                    shutil.copytree(source, place / name, ignore=without_kept)
            commands = [(name, form, ["report", "experiment", *words, "--format", form])
                        for name, words in views_of(self.old, places[0]).items() for form in FORMATS]
            commands += [("difference", form, ["report", "other", "experiment", "--format", form]) for form in FORMATS]
            commands += [("events listed", "csv", ["events", "experiment", "--format", "csv"])]
            commands += [("analysis", form, ["analyze", "experiment", "--format", form]) for form in FORMATS]
            commands += [("calltree analysed", form, ["report", "experiment", "--format", form]) for form in ("text", "json")]
            for view, form, words in commands:
                self.compare(experiment.name, view, form, words, places)

    def compare(self, experiment: str, view: str, form: str, words: list[str], places: list[Path]) -> None:
        old, new = (run(refrain, place, words) for refrain, place in zip((self.old, self.new), places))
        differences = of_outputs(old, new, form)
        self.outputs += 1
        if not differences:
            self.equal += 1
            return
        again = [run(refrain, place, words) for refrain, place in zip((self.old, self.new), places)]
        is_unsteady = bool(of_outputs(old, again[0], form) or of_outputs(new, again[1], form))
        for difference in differences:
            rule = rule_of(experiment, view, form, difference)
            kind = rule.kind if rule else UNSTEADY if is_unsteady else "UNEXPLAINED"
            self.unexplained += kind == "UNEXPLAINED"
            place = (kind, f"{view} {form} {difference.place}")
            self.counts[place] += 1
            if self.counts[place] <= MOST_SHOWN:
                print(f"{kind}: {experiment}, {view}, {form}: {difference}{f'  ({rule.reason})' if rule else ''}", flush=True)

    def summary(self) -> None:
        for (kind, place), count in sorted(self.counts.items()):
            print(f"{count:7} {kind}: {place}")
        print(f"{self.outputs} outputs, {self.equal} the same; {self.unexplained} differences without a rule")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("experiments", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path, help="make the experiments here, and leave them")
    parser.add_argument("--only", default="", help="only experiments with this in their name")
    options = parser.parse_args()
    old, new = options.old.resolve(), options.new.resolve()
    comparison = Comparison(old, new)
    made = None
    if not options.experiments:
        made = options.keep.resolve() if options.keep else Path(tempfile.mkdtemp(prefix="compare-", dir=old.parent.parent))
        made.mkdir(parents=True, exist_ok=True)
    try:
        experiments = [path.resolve() for path in options.experiments]
        if made:
            experiments, missing = make_all(old, made)
            for name, why in missing.items():
                print(f"left out: {name}: {why}")
        experiments = [path for path in experiments if options.only in path.name]
        for at, experiment in enumerate(experiments):
            comparison.look_at(experiment, experiments[at - 1])
    finally:
        if made and not options.keep:
            shutil.rmtree(made, ignore_errors=True)
    comparison.summary()
    print(f"{len(experiments)} experiments")
    return 1 if comparison.unexplained or not comparison.outputs else 0


if __name__ == "__main__":
    sys.exit(main())
