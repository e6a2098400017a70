"""`refrain view`: the data in the file are those of the report, names are data, and nothing else is in it. The page itself is
tested in browsers by page/test/browser (tests/apps/view_browser.py)."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import struct
import subprocess
import unittest
from array import array
from pathlib import Path
from typing import Any

from refrain_testing import EXAMPLES, REFRAIN, SOURCE, Report, TestCase, clean_environment, mpirun

BLOCK = re.compile(r'<script type="application/octet-stream" data-run="(\d+)" data-section="(\w+)">([A-Za-z0-9+/=]*)</script>')
STEP = 12 * 2.302585092994046 / 65534


def has_page() -> bool:
    done = subprocess.run([str(REFRAIN), "view", str(SOURCE / "tests/golden/profile-1.10"), "-o", "/dev/null/x"],
                          capture_output=True, text=True, env=clean_environment())
    return "has no page" not in done.stderr


class View:
    """What the file holds of its runs."""

    def __init__(self, page: Path):
        self.text = page.read_text()
        self.sections: dict[tuple[int, str], bytes] = {
            (int(run), name): gzip.decompress(base64.b64decode(data)) for run, name, data in BLOCK.findall(self.text)}
        self.head: dict[str, Any] = json.loads(self.sections[0, "head"])

    def nodes(self) -> list[list[str]]:
        """Paths, by node."""
        strings, columns = self.head["strings"], self.head["nodes"]
        paths: list[list[str]] = []
        for name, parent in zip(columns["name"], columns["parent"]):
            paths.append([] if parent < 0 else [*paths[parent], strings[name]])
        return paths

    def metrics(self, name: str) -> set[int]:
        """Numbers of the metric and of those below it that do not overlap."""
        found: set[int] = set()
        for number, metric in enumerate(self.head["metrics"]):
            if metric["name"] == name or (metric["parent"] in found and not metric["overlaps"]):
                found.add(number)
        return found

    def sums(self, metric: str, unit: int = 0, kind: int = 0) -> dict[int, float]:
        """Exclusive values by node."""
        data, wanted, at = self.sections[0, "sums"], self.metrics(metric), 0
        values: dict[int, float] = {}
        while at < len(data):
            row_kind, row_unit, row_metric, count = struct.unpack_from("<4I", data, at)
            nodes = struct.unpack_from(f"<{count}I", data, at + 16)
            at = (at + 16 + 4 * count + 7) // 8 * 8
            for node, value in zip(nodes, struct.unpack_from(f"<{count}d", data, at)):
                if (row_kind, row_unit) == (kind, unit) and row_metric in wanted:
                    values[node] = values.get(node, 0) + value
            at += 8 * count
        return values

    def by_place(self, metric: str, below: list[str]) -> list[float]:
        """What call paths that begin with these names have, by place."""
        data, wanted, nodes = self.sections[0, "cells"], self.metrics(metric), self.nodes()
        rows, places = struct.unpack_from("<2I", data)
        columns = [array("I", data[8 + 4 * rows * i:8 + 4 * rows * (i + 1)]) for i in range(4)]
        scales, at = struct.unpack_from(f"<{rows}d", data, 8 + 16 * rows), 8 + 24 * rows
        sums = [0.0] * places
        for row in range(rows):
            if columns[0][row] == 0 and columns[1][row] in wanted and nodes[columns[2][row]][:len(below)] == below:
                for place in range(places):
                    code = data[at + place] * 256 + data[at + places + place]
                    sums[place] += scales[row] * 2.718281828459045 ** ((code - 65535) * STEP) if code else 0
            at += (3 if columns[3][row] else 2) * places
        return sums


@unittest.skipUnless(has_page(), "refrain view: this build has no page (npm, scripts/build)")
class Payload(TestCase):
    def view(self, *experiments: Path, options: tuple[str, ...] = ()) -> View:
        page = self.directory / "page.html"
        done = subprocess.run([str(REFRAIN), "view", *map(str, experiments), "-o", str(page), *options], capture_output=True, text=True,
                              env=clean_environment(), timeout=120)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return View(page)

    def stencil(self, *words: object) -> Path:
        outcome = self.measured(mpirun(4, EXAMPLES / "stencil", "--steps", 80, *words))
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def test_sums_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        view, report = self.view(experiment), Report(experiment)
        paths, wall = view.nodes(), view.sums("wall")
        got: dict[tuple[str, ...], float] = {}
        for node, value in wall.items():
            got[tuple(paths[node])] = got.get(tuple(paths[node]), 0) + value
        want: dict[tuple[str, ...], float] = {}
        for call in report.callpaths:
            want[tuple(call["path"])] = want.get(tuple(call["path"]), 0) + call["exclusive_s"]
        for path, seconds in want.items():
            self.assertAlmostEqual(seconds, got.get(path, 0), delta=1e-9 + 1e-9 * seconds, msg=str(path))
        self.assertEqual({path for path in got if path and got[path] > 0}, {path for path, seconds in want.items() if seconds > 0})
        self.assertAlmostEqual(report.totals["mpi_s"], sum(view.sums("mpi").values()), delta=1e-9 * report.totals["mpi_s"])
        self.assertEqual(report.totals["mpi_calls"], sum(view.sums("visits").values()))

    def test_values_by_rank_are_within_a_thousandth(self) -> None:
        experiment = self.stencil()
        view = self.view(experiment)
        top = max((path for path in view.nodes() if len(path) == 2), key=lambda path: sum(view.by_place("wall", path)))
        for rank, got in zip(view.head["places"]["rank"], view.by_place("wall", top)):
            want = Report(experiment, "--rank", str(rank)).sum("exclusive_s", lambda call: call["path"][:2] == top)
            self.assertAlmostEqual(want, got, delta=1e-3 * want)

    def test_extremes_are_those_of_ranks(self) -> None:
        experiment = self.stencil()
        view = self.view(experiment)
        greatest = view.sums("mpi", kind=5)
        node = max(greatest, key=lambda of: greatest[of])
        path = view.nodes()[node]
        by_rank = [Report(experiment, "--rank", str(rank)).sum("exclusive_s", lambda call: call["path"] == path) for rank in range(4)]
        self.assertAlmostEqual(max(by_rank), greatest[node], delta=1e-9 * greatest[node])
        self.assertEqual(by_rank.index(max(by_rank)), view.sums("mpi", kind=6)[node])
        self.assertAlmostEqual(min(by_rank), view.sums("mpi", kind=3)[node], delta=1e-9 * greatest[node])

    def test_functions_know_which_runtime_they_are_of(self) -> None:
        if not (EXAMPLES / "stencil_omp").exists():
            self.skipTest("stencil_omp is not built (no OpenMP)")
        outcome = self.measured(mpirun(2, EXAMPLES / "stencil_omp", "--steps", 40))
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        view = self.view(outcome.experiment)
        runtimes = list(zip((path[-1] if path else "" for path in view.nodes()), view.head["nodes"]["runtime"], strict=True))
        openmp = [runtime for name, runtime in runtimes if name.startswith(("GOMP_", "__kmpc_"))]
        self.assertTrue(openmp)
        self.assertEqual({2}, set(openmp))
        self.assertEqual({0}, {runtime for name, runtime in runtimes if name in ("main", "timestep", "step") or name.startswith("MPI_")})

    def test_classes_of_a_loop_add_up_to_it(self) -> None:
        experiment = self.stencil()
        view = self.view(experiment)
        loop = view.head["loops"][0]
        self.assertEqual(80, loop["iterations"])
        units = [number for number, unit in enumerate(view.head["units"]) if unit["kind"] == "class"]
        self.assertEqual(80, sum(view.head["units"][unit]["count"] for unit in units))
        below = {node for node, path in enumerate(view.nodes()) if path[:len(view.nodes()[loop["node"]])] == view.nodes()[loop["node"]]}
        whole = sum(value for node, value in view.sums("wall").items() if node in below)
        parts = sum(value for unit in units for node, value in view.sums("wall", unit).items() if node in below)
        self.assertAlmostEqual(whole, parts, delta=1e-2 * whole)

    def test_findings_are_those_of_the_report(self) -> None:
        outcome = self.measured(mpirun(4, EXAMPLES / "drift", "--steps", 300))
        assert outcome.experiment
        view, report = self.view(outcome.experiment), Report(outcome.experiment)
        self.assertEqual([finding["text"] for finding in report.data["findings"]], [finding["text"] for finding in view.head["findings"]])

    def test_efficiencies_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        wanted = Report(experiment, "--efficiency").data["efficiencies"]
        found = self.view(experiment).head["efficiencies"]
        self.assertEqual([of["name"] if of["kind"] == "loop" else "" for of in wanted], [of["loop"] for of in found])
        for of, tree in zip(wanted, found):
            for factor in tree["factors"]:
                if factor["value"] is None:
                    self.assertIsNone(of.get(factor["name"]))
                else:
                    self.assertAlmostEqual(of[factor["name"]], factor["value"], delta=1e-9)

    def test_several_runs_are_in_one_file(self) -> None:
        view = self.view(self.stencil(), self.stencil("--imbalance", 0))
        self.assertEqual({0, 1}, {run for run, _ in view.sections})

    def test_anonymous_files_hold_no_names(self) -> None:
        experiment = self.stencil()
        view = self.view(experiment, options=("--anonymous",))
        for section in ("head",):
            text = view.sections[0, section].decode()
            for name in ("stencil", str(experiment.parent), "--steps"):
                self.assertNotIn(name, text)
        self.assertIn("MPI_", view.sections[0, "head"].decode())

    def test_nothing_is_loaded_from_anywhere(self) -> None:
        view = self.view(self.stencil())
        self.assertIn("connect-src 'none'", view.text)
        page = BLOCK.sub("", view.text)
        self.assertEqual([], re.findall(r"<(?:link|img|iframe)\b|\bsrc=", page.split("<script>")[0]))

    def test_old_files_and_profiles_of_other_tools_open(self) -> None:
        for golden in sorted((SOURCE / "tests/golden").iterdir()):
            with self.subTest(golden.name):
                self.assertEqual(1, self.view(golden).head["format"])

    def test_threads_of_other_tools_are_grouped_where_they_do_not_fit(self) -> None:
        ranks, functions = 300, 2000
        profile = self.directory / "wide.json"
        profile.write_text(json.dumps({
            "data": [[node, node % ranks, 1.0] for node in range(functions)], "columns": ["path", "mpi.rank", "sum#time.duration"],
            "column_metadata": [{"is_value": False}, {"is_value": True}, {"is_value": True}],
            "nodes": [{"label": f"f{node}", "column": "path"} for node in range(functions)]}))
        for options, are_grouped in (((), False), (("--size", "1"), True)):
            view = self.view(profile, options=options)
            places, texts = view.head["places"], [lack["text"] for lack in view.head["lacks"]]
            self.assertEqual(ranks, sum(places["locations"]))
            self.assertEqual(are_grouped, len(places["rank"]) < ranks)
            self.assertEqual(are_grouped, any(text.startswith(f"{ranks} threads do not fit") for text in texts), texts)
            self.assertAlmostEqual(functions, sum(view.by_place("wall", [])), delta=1e-3 * functions)

    def test_a_file_that_cannot_be_written_leaves_nothing_behind(self) -> None:
        target = self.directory / "none" / "page.html"
        done = subprocess.run([str(REFRAIN), "view", str(SOURCE / "tests/golden/profile-1.10"), "-o", str(target)], capture_output=True, text=True,
                              env=clean_environment())
        self.assertEqual(1, done.returncode)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertIn("page.html", done.stderr)


class WithoutPage(TestCase):
    @unittest.skipIf(has_page(), "this build has its page")
    def test_it_says_how_to_get_it(self) -> None:
        done = subprocess.run([str(REFRAIN), "view", str(SOURCE / "tests/golden/profile-1.10")], capture_output=True, text=True, env=clean_environment())
        self.assertEqual(1, done.returncode)
        self.assertIn("scripts/build", done.stderr)


class Page(TestCase):
    def test_the_model(self) -> None:
        if not shutil.which("npm") or not (SOURCE / "page/node_modules/esbuild").is_dir():
            self.skipTest("page.model: page/node_modules has no esbuild (npm ci in page/)")
        done = subprocess.run(["npm", "test", "--silent"], cwd=SOURCE / "page", capture_output=True, text=True, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout[-5000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
