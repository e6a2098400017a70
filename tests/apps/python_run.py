"""The package refrain of Python: its tables are those of `refrain report`, with pandas and without."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterable

from refrain_testing import BUILD, FULL, MPIS, PROGRAMS, SOURCE, Report, TestCase, clean_environment, mpiexec
from trace_model import python_with_refrain

MPI = MPIS[0]
ITERATIONS = 60

# What data frames say, as JSON; `rows` makes lists of dictionaries of either kind of table.
ASK = """
import json, sys
import refrain

def rows(table):
    return table if isinstance(table, list) else table.to_dict("records")

run = refrain.open(sys.argv[1])
tree = run.tree()
print(json.dumps({
    "kind": type(run.findings()).__name__, "facts": run.facts, "loops": run.loops, "locations": run.locations,
    "metrics": [of["name"] for of in run.metrics],
    "paths": rows(run.table("callpaths", by="rank", metrics=["wall", "mpi", "visits"])),
    "sums": rows(run.table("callpaths", metrics=["wall"], inclusive=True)),
    "iterations": rows(run.iterations("step", metrics=["wall", "mpi"])),
    "efficiency": rows(run.efficiency()), "findings": rows(run.findings()), "functions": rows(run.table("functions")),
    "times": [row["time"] for row in rows(run.table("callpaths", metrics=["time"], inclusive=True))],
    "changes": len(run.compare(run)), "changes of iterations": len(run.compare(run, "iterations")),
    "found": [row["run"] for row in rows(run.compare(run, "findings"))],
    "query": rows(run.query("select rank, count(*) as number, sum(wall_s) as wall_s from iterations where loop = 'step' group by rank order by rank")),
    "calls": rows(run.query("select sum(visits) as visits from callpaths where function = 'MPI_Sendrecv'")),
    "tree": [[node.path, node.exclusive["wall"], node.inclusive["wall"]] for node in tree.walk() if node is not tree],
    "root": tree.inclusive["wall"], "events": len(run.events())}, default=str))
"""

WITHOUT_PANDAS = "import sys\nsys.modules['pandas'] = sys.modules['numpy'] = None\n"

REFUSED = """
import sys
import refrain
run = refrain.open(sys.argv[1])
for ask in (lambda: run.table("nothing"), lambda: run.table("callpaths", metrics=["nothing"]), lambda: run.table("callpaths", by="core"),
            lambda: run.iterations("nothing"), lambda: run.table("mpi", by="rank"), lambda: run.compare(run, "nothing"),
            lambda: run.efficiency("nothing")):
    try:
        ask()
    except ValueError as error:
        assert str(error), ask
    else:
        raise AssertionError("nothing was refused")
try:
    refrain.open("/nonexistent")
except refrain.ReadError as error:
    assert isinstance(error, OSError) and "nonexistent" in str(error)
"""

ARRAYS = """
import sys
import numpy
from refrain import _run
columns = _run.NativeRun(sys.argv[1]).iterations("step", ["wall"])
array = numpy.asarray(columns["wall_s"])
again = numpy.asarray(columns["wall_s"])
array[0] = 7
assert again[0] == 7 and columns["wall_s"][0] == 7 and array.dtype == numpy.float64
assert numpy.asarray(columns["rank"]).dtype == numpy.int64
"""


# Stubs name what the modules have, and people get a sentence and types for everything that is theirs.
TYPES = """
import ast, inspect, pathlib
import refrain, refrain.patterns, refrain.run, refrain.trace
from refrain import _run
folder = pathlib.Path(refrain.__file__).parent
assert (folder / "py.typed").exists()
public = lambda names: {name for name in names if not name.startswith("_")}
for module in (refrain.trace, _run):
    stub = ast.parse((folder / (module.__name__.split(".")[-1] + ".pyi")).read_text())
    told = {of.name: {member.name for member in of.body if isinstance(member, ast.FunctionDef)} for of in stub.body if isinstance(of, ast.ClassDef)}
    there = {name: of for name, of in vars(module).items() if inspect.isclass(of)}
    assert told.keys() == public(there), (module, told.keys() ^ public(there))
    for name, members in told.items():
        assert public(members) == public(vars(there[name])), (name, public(members) ^ public(vars(there[name])))
        assert all(hasattr(there[name], member) for member in members - {"__iter__"}), name
for of in (refrain.Run, refrain.Node, refrain.patterns.Pattern, refrain.trace.EventTrace):
    assert inspect.getdoc(of), of
    for name in public(vars(of)):
        member = inspect.getattr_static(of, name)
        function = member.fget if isinstance(member, property) else member
        if callable(function):
            assert inspect.getdoc(member), (of, name)
        if inspect.isfunction(function):
            signature = inspect.signature(function)
            told = [parameter.annotation for parameter in signature.parameters.values() if parameter.name != "self"]
            assert inspect.Signature.empty not in (*told, signature.return_annotation), (of, name)
"""


class PythonRun(TestCase):
    def setUp(self) -> None:
        super().setUp()
        outcome = self.measured(mpiexec(MPI, 2, PROGRAMS / f"marked_steps_{MPI}", ITERATIONS, 2000), {"REFRAIN_TRACE": "all"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        self.experiment: Path = outcome.experiment
        self.python, self.environment = python_with_refrain()

    def run_python(self, program: str) -> str:
        done = subprocess.run([self.python, "-B", "-c", program, str(self.experiment)], capture_output=True, text=True, env=self.environment, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def has(self, module: str) -> bool:
        return subprocess.run([self.python, "-c", f"import {module}"], capture_output=True, env=self.environment).returncode == 0

    def check(self, said: dict[str, Any]) -> None:
        report = Report(self.experiment)
        self.assertEqual((2, {"step": ITERATIONS}), (said["facts"]["processes"], said["loops"]))
        exclusive: dict[tuple[str, ...], float] = defaultdict(float)
        inclusive: dict[tuple[str, ...], float] = defaultdict(float)
        for row in report.callpaths:
            if row["path"]:
                exclusive[tuple(row["path"])] += row["exclusive_s"]
                inclusive[tuple(row["path"])] += row["inclusive_s"]
        for path, own, all_s in said["tree"]:
            self.assertAlmostEqual(exclusive[tuple(path)], own, delta=1e-6, msg=path)
            self.assertAlmostEqual(inclusive[tuple(path)], all_s, delta=1e-6, msg=path)
        wall_s = report.totals["wall_s"]
        self.assertAlmostEqual(wall_s, said["root"], delta=1e-4 * wall_s)
        self.assertAlmostEqual(wall_s, sum(row["wall"] for row in said["paths"]), delta=1e-4 * wall_s)
        self.assertEqual({0, 1}, {row["rank"] for row in said["paths"]})
        sends = [row for row in said["paths"] if row["function"] == "MPI_Sendrecv"]
        self.assertEqual([ITERATIONS, ITERATIONS], [row["visits"] for row in sends])
        self.assertTrue(all(row["path"].endswith("/MPI_Sendrecv") and row["kind"] == "mpi" for row in sends), sends)
        self.assertEqual([2 * ITERATIONS], [row["visits"] for row in said["calls"]])
        self.assertEqual([row["wall"] for row in said["sums"]], said["times"])
        by_path = {row["path"]: row["wall"] for row in said["sums"]}
        for path, _, all_s in said["tree"]:
            self.assertAlmostEqual(all_s, by_path.get("/".join(path), 0), delta=1e-9, msg=path)
        self.assertEqual(2 * ITERATIONS, len(said["iterations"]))
        self.assertEqual([(0, ITERATIONS), (1, ITERATIONS)], [(row["rank"], row["number"]) for row in said["query"]])
        for row in said["query"]:
            own = sum(of["wall_s"] for of in said["iterations"] if of["rank"] == row["rank"])
            self.assertAlmostEqual(own, row["wall_s"], delta=1e-9)
        run = said["efficiency"][0]
        self.assertEqual("run", run["kind"])
        self.assertAlmostEqual(run["parallel"], run["load_balance"] * run["communication"], delta=1e-9)
        self.assertIn("additive.load_balance", run)
        self.assertGreater(said["events"], 0)
        number = len(said["findings"])
        self.assertEqual(number * ["before"] + number * ["now"], said["found"])
        self.assertIn("MPI_Sendrecv", [row["function"] for row in said["functions"]])

    def test_data_frames(self) -> None:
        if not self.has("pandas"):
            self.skipTest("there is no pandas")
        said = json.loads(self.run_python(ASK))
        self.assertEqual("DataFrame", said["kind"])
        self.check(said)

    def test_lists_without_pandas(self) -> None:
        said = json.loads(self.run_python(WITHOUT_PANDAS + ASK))
        self.assertEqual("list", said["kind"])
        self.check(said)

    def test_arrays_share_the_memory_of_columns(self) -> None:
        if not self.has("numpy"):
            self.skipTest("there is no numpy")
        self.run_python(ARRAYS)

    def test_what_there_is_not_is_refused(self) -> None:
        self.run_python(REFUSED)

    def test_stubs_and_docstrings_are_whole(self) -> None:
        self.run_python(TYPES)

    def test_events_and_patterns_need_no_more_than_they_did(self) -> None:
        self.run_python("import sys, refrain.trace, refrain.patterns\nassert 'refrain._run' not in sys.modules and 'pandas' not in sys.modules")


class Pip(TestCase):
    """The package by itself, in a virtual environment with the system's setuptools and pybind11."""

    def install(self, names: Iterable[str], **variables: str) -> None:
        """Builds a copy of these files, so that the sources stay as they are."""
        python, _ = python_with_refrain()
        tools = subprocess.run([python, "-c", "import pip, setuptools, wheel, venv, ensurepip"], capture_output=True, env=clean_environment())
        if tools.returncode != 0:
            self.skipTest("pip, setuptools, wheel or venv is missing")
        environment = clean_environment({"PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables})
        own = self.directory / "environment"
        subprocess.run([python, "-m", "venv", "--system-site-packages", str(own)], check=True, capture_output=True, env=environment)
        copy = self.directory / "source"
        for name in names:
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-r", str(SOURCE / name), str(target)], check=True)
        done = subprocess.run([own / "bin" / "pip", "install", "--no-build-isolation", "--no-index", "."], capture_output=True, text=True, env=environment, cwd=copy)
        self.assertEqual(0, done.returncode, done.stderr)
        environment.pop("PYTHONPATH", None)
        said = subprocess.run([own / "bin" / "python", "-c", "import refrain, refrain.trace; print(refrain.__file__, refrain.Run.__name__)"], capture_output=True, text=True, env=environment, cwd=os.sep)
        self.assertEqual(0, said.returncode, said.stderr)
        self.assertIn(str(own), said.stdout)

    def test_with_modules_that_are_built(self) -> None:
        self.install(("setup.py", "pyproject.toml", "CMakeLists.txt", "offline/python/package"), REFRAIN_BUILD=str(BUILD))

    @unittest.skipUnless(FULL, "compiles the offline half")
    def test_it_builds_its_modules(self) -> None:
        self.install(path.name for path in SOURCE.iterdir() if path.name not in ("page", "tests", "bench") and not path.name.startswith((".", "build")))


if __name__ == "__main__":
    unittest.main()
