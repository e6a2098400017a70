"""Whether an output is what a document shows of it: structure by line, numbers by what they are.

* A line "..." stands for any number of lines, "..." or "…" in a line for any text. Blanks between words do not count.
* Times, percentages and numbers with a decimal point are any such number: they differ from machine to machine. All others (counts,
  ranks, bytes without a fraction, and whatever stands behind "=", as programs print it) are equal.
* A call tree is compared by call paths, since its order, and what is folded, follow the times: every path shown is there, with the
  same calls and bytes, be it only with --min-share 0; every path of user code that has 10 % or more is shown; pseudo paths, in (), and
  such without calls below 2 % come and go.
"""

from __future__ import annotations

import re

TIME = r"(?:ns|us|ms|s|h)"
ANY_NUMBER = r"(?:<?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?|\d+:\d\d:\d\d)"
TOKEN = re.compile(rf"""(?P<any>\.\.\.|…)
  | (?P<assigned>=\S+)
  | (?P<time>\d+:\d\d:\d\d\ h | [\d,]+(?:\.\d+)?\ {TIME}\b)
  | (?P<percent><?[\d,]+(?:\.\d+)?(?=\ ?%))
  | (?P<fraction><?[\d,]*\d\.\d+)
  | (?P<blank>\s+)
  | (?P<other>.)""", re.VERBOSE)
CELLS = ("├ ", "└ ", "│ ", "  ")


def pattern_of(line: str) -> re.Pattern[str]:
    """What a line of an output must be when the document shows `line`."""
    parts = []
    for token in TOKEN.finditer(line.strip()):
        kind, text = token.lastgroup, token.group()
        if kind == "any" or (kind == "assigned" and text == "=..."):
            parts.append(re.escape(text.removesuffix("...").removesuffix("…")) + ".*")
        elif kind == "time":
            parts.append(rf"{ANY_NUMBER}\s+{TIME}")
        elif kind in ("percent", "fraction"):
            parts.append(ANY_NUMBER)
        elif kind == "blank":
            parts.append(r"\s+")
        else:
            parts.append(re.escape(text))
    return re.compile("".join(parts))


class Tree:
    """A call tree as `refrain report` prints it: calls and bytes by call path."""

    def __init__(self, lines: list[str]):
        """`lines` begin with the heading of the columns."""
        heading = lines[0]
        self.column = heading.index("call path")
        names = ["incl %", "excl %", "time", "MPI calls", "bytes"]
        ends = {name: heading.index(name) + len(name) for name in names if name in heading}
        self.rows: dict[tuple[str, ...], dict[str, str]] = {}
        self.size = 1
        path: list[str] = []
        above: list[int] = []  # lengths of `path` at each level of branches
        for line in lines[1:]:
            if len(line) <= self.column or not line[:self.column].strip():
                break
            self.size += 1
            text, cells = line[self.column:], 0
            branch = False
            while text.startswith(CELLS):
                branch = text[0] in "├└"
                text, cells = text[2:], cells + 1
            path, above = (path[:above[cells - 1]], above[:cells]) if branch else ([], [])
            name = re.sub(r"  \[.*[\]…]$", "", text).strip()
            row, begin = {}, 0
            for column, end in ends.items():
                row[column] = line[begin:end].strip()
                begin = end
            # What several call paths share is the first one's.
            for function in name.split(" > "):
                path = path + [function]
                self.rows[tuple(path)] = row
                row = {}
            above = above[:cells] + [len(path)]


def share(row: dict[str, str]) -> float:
    text = row.get("incl %", "").removeprefix("<")
    return float(text) if text else 0.0


def compare_trees(expected: Tree, actual: Tree, whole: Tree) -> list[str]:
    faults = []
    for path, row in expected.rows.items():
        if path[-1].startswith("(") or (row and not row.get("MPI calls") and share(row) < 2):
            continue
        if path not in whole.rows:
            faults.append(f"no call path {'/'.join(path)}")
            continue
        for column in ("MPI calls", "bytes"):
            if column in row and column in whole.rows[path] and row[column] != whole.rows[path][column]:
                faults.append(f"{'/'.join(path)}: {column} {whole.rows[path][column] or 'none'}, not {row[column] or 'none'}")
    for path, row in actual.rows.items():
        own = path[-1].startswith(("(", "MPI_"))
        if share(row) >= 10 and not own and path not in expected.rows:
            faults.append(f"{'/'.join(path)} is not shown")
    return faults


def has_tree(lines: list[str]) -> bool:
    return any("call path" in line and "incl %" in line for line in lines)


def tree_lines(lines: list[str]) -> tuple[int, int]:
    """Where the call tree begins, and how many lines it has with its heading."""
    begin = next(n for n, line in enumerate(lines) if has_tree([line]))
    return begin, Tree(lines[begin:]).size


def compare(expected: list[str], actual: list[str], unfolded: list[str] | None = None) -> list[str]:
    """Faults, none when `actual` is what the document shows. `unfolded` is the output with the whole call tree."""
    expected, actual = trimmed(expected), trimmed(actual)
    at, faults, skipping = 0, [], False
    i = 0
    while i < len(expected):
        line = expected[i]
        if line.strip() in ("...", "…"):
            skipping = True
        elif has_tree([line]):
            found = next((n for n in range(at, len(actual)) if has_tree([actual[n]])), None)
            if found is None:
                return faults + ["no call tree"]
            wanted, there = Tree(expected[i:]), Tree(actual[found:])
            whole = Tree(unfolded[tree_lines(unfolded)[0]:]) if unfolded and has_tree(unfolded) else there
            faults += compare_trees(wanted, there, whole)
            i, at, skipping = i + wanted.size - 1, found + there.size, False
        else:
            pattern = pattern_of(line)
            last = len(actual) if skipping else min(at + 1, len(actual))
            found = next((n for n in range(at, last) if pattern.fullmatch(actual[n].strip())), None)
            if found is None:
                what = f"instead: {actual[at]!r}" if at < len(actual) and not skipping else "not there"
                return faults + [f"{line!r}: {what}"]
            at, skipping = found + 1, False
        i += 1
    if not skipping and at < len(actual):
        faults.append(f"more than is shown: {actual[at]!r}")
    return faults


def trimmed(lines: list[str]) -> list[str]:
    lines = [line.rstrip() for line in lines]
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines
