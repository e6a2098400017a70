"""Experiments that earlier versions have written of real programs, complete and of a job that was killed: what the reports of that version said of
them is what today's say. `make_golden_experiments.py` makes them; none is ever changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any, Iterator

from make_golden_experiments import GOLDEN, SAID, VIEWS, document_of
from refrain_testing import REFRAIN, TestCase, clean_environment

VERSIONS = ("0.1.0",)
# What may be said in other words, or is of the program that reports.
OF_THE_PROGRAM = {"schema", "notes", "subject", "shared_cores", "text", "advice"}


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """What the document `before` says and `now` does not. Members, and elements of lists, may be added."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            if name in OF_THE_PROGRAM:
                continue
            if name in now:
                yield from differences(value, now[name], f"{place}.{name}")
            else:
                yield f"{place}.{name}: not there"
    elif isinstance(before, list) and isinstance(now, list):
        if len(before) == len(now):
            for i, (one, other) in enumerate(zip(before, now)):
                yield from differences(one, other, f"{place}[{i}]")
        else:
            for i, one in enumerate(before):
                if not any(next(differences(one, other), None) is None for other in now):
                    yield f"{place}[{i}]: not there"
    elif isinstance(before, float) and isinstance(now, (int, float)):
        if abs(before - now) > 2e-9 + 1e-6 * abs(before):
            yield f"{place}: {before} -> {now}"
    elif before != now:
        yield f"{place}: {before!r} -> {now!r}"


class GoldenExperiments(TestCase):
    def experiment(self, name: str) -> Path:
        """A copy: tools add to an experiment what it lacks."""
        self.assertTrue((GOLDEN / name / SAID).is_file(), f"no {GOLDEN / name}: see make_golden_experiments.py")
        return Path(shutil.copytree(GOLDEN / name, self.directory / name))

    def run_in(self, experiment: Path, words: str, code: int) -> str:
        command, _, options = words.partition(" ")
        done = subprocess.run([REFRAIN, command, experiment.name, *options.split()], cwd=experiment.parent, capture_output=True, text=True,
                              env=clean_environment(), timeout=120)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        return done.stdout

    def check(self, name: str) -> None:
        experiment = self.experiment(name)
        said = json.loads((experiment / SAID).read_text())
        self.assertEqual(set(VIEWS), set(said), "made by another version of make_golden_experiments.py")
        for words, view in said.items():
            with self.subTest(name=name, words=words):
                output = self.run_in(experiment, words, view["code"])
                document = document_of(output, words, name.endswith("killed"))
                self.assertEqual([], list(differences(view["document"], document))[:20])

    def test_complete_ones(self) -> None:
        for version in VERSIONS:
            self.check(f"{version}-complete")
            manifest = json.loads((GOLDEN / f"{version}-complete" / "manifest.json").read_text())
            self.assertEqual("complete", manifest["state"])

    def test_those_of_a_job_that_was_killed(self) -> None:
        """Nothing of it is in profile.refrain: parts, iterations and events that were written while it ran."""
        for version in VERSIONS:
            self.check(f"{version}-killed")
            directory = GOLDEN / f"{version}-killed"
            self.assertEqual("running", json.loads((directory / "manifest.json").read_text())["state"])
            self.assertFalse((directory / "profile.refrain").exists())
            for kind in ("part", "iterations", "events"):
                self.assertEqual(2, len(list(directory.glob(f"{kind}-*.refrain"))), kind)

    def test_they_can_be_packed_searched_and_viewed(self) -> None:
        for name in (f"{version}-{state}" for version in VERSIONS for state in ("complete", "killed")):
            with self.subTest(name=name):
                experiment = self.experiment(name)
                totals = json.loads(self.run_in(experiment, "report --format json", 0))["totals"]
                if name.endswith("complete"):
                    self.run_in(experiment, "analyze --again", 0)
                self.run_in(experiment, f"pack -o {name}.tar", 0)
                packed = subprocess.run([REFRAIN, "report", f"{name}.tar", "--format", "json"], cwd=self.directory, capture_output=True, text=True,
                                        env=clean_environment(), timeout=120)
                self.assertEqual(0, packed.returncode, packed.stderr)
                self.assertEqual(totals, json.loads(packed.stdout)["totals"])

    def test_what_is_compared(self) -> None:
        """The comparison itself."""
        self.assertEqual([], list(differences({"a": 1, "b": [1.0]}, {"a": 1, "b": [1.0 + 1e-10], "c": 2})))
        self.assertEqual([], list(differences([{"name": "x"}], [{"name": "y"}, {"name": "x", "more": 1}])))
        self.assertEqual([".a: 1 -> 2"], list(differences({"a": 1}, {"a": 2})))
        self.assertEqual([".a: not there"], list(differences({"a": 1}, {})))
        self.assertEqual(["[1]: not there"], list(differences(["x", "y"], ["x"])))


if __name__ == "__main__":
    unittest.main(verbosity=2)
