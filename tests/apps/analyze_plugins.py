"""Patterns of users, in Python and in C++: what they find, what they are told, and what becomes of their errors."""

from __future__ import annotations

import json
import os
import subprocess
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import BUILD, REFRAIN, SOURCE, TestCase, clean_environment

# The definition that comes with Refrain; and figure 1 of Wolf and Mohr, Automatic Performance Analysis of MPI Applications
# Based on Event Traces, but for the names of regions.
LATE = '''
from refrain.patterns import Pattern


class OwnLateSender(Pattern):
    parent = "late_sender"
    title = "Receivers wait for senders"

    def receiving_callback(self, receiving):
        if receiving["waiting_ns"] > float(self.settings.get("least_ns", 0)):
            self.add(receiving, ns=receiving["waiting_ns"])


class FigureOne(Pattern):
    parent = "p2p"
    sum_idle_time = 0

    def recv_callback(self, recv):
        recv_start = self.trace.event(recv["enterptr"])
        send = self.trace.event(recv["sendptr"])
        send_start = self.trace.event(send["enterptr"])
        idle_time = send_start["time_ns"] - recv_start["time_ns"]
        if idle_time > 0 and send_start["region"] == "MPI_Send" and recv_start["region"] == "MPI_Recv":
            self.sum_idle_time += idle_time
            self.add(recv_start, ns=idle_time)

    def confidence(self):
        return 0.75

    def severity(self):
        return self.sum_idle_time / 1e9

    def results(self):
        return [f"{self.sum_idle_time} ns"]


class Counts(Pattern):
    parent = "time"
    calls = collectives = enters = exits = 0

    def call_callback(self, call):
        self.calls += 1

    def enter_callback(self, enter):
        self.enters += 1

    def exit_callback(self, event):
        self.exits += 1

    def collective_callback(self, collective):
        self.collectives += len(collective["parts"])

    def wrapup(self):
        self.said = [str(self.calls), str(self.enters), str(self.exits), str(self.collectives)]

    def results(self):
        return self.said
'''

BROKEN = '''
from refrain.patterns import Pattern


class Broken(Pattern):
    def recv_callback(self, recv):
        return 1 / (recv["length"] - recv["length"])


class Works(Pattern):
    def recv_callback(self, recv):
        self.add(recv, ns=1000)
'''


AWKWARD = '''
import abc
import helper
from refrain.patterns import Pattern

print("said while it is loaded")
written = open("written", "w")


class _Shared(Pattern):
    pass


class Abstract(_Shared, abc.ABC):
    @abc.abstractmethod
    def limit(self):
        pass


class Real(Abstract):
    parent = "p2p"

    def limit(self):
        return helper.LIMIT

    def recv_callback(self, recv):
        written.write("x")
        self.add(recv, ns=self.limit())
        self.path = self.trace.callpath(recv["callpath"])

    def results(self):
        return self.path[-3:]


Alias = Real
'''


class Plugins(TestCase):
    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path

    def analyze(self, experiment: Path, *options: Any, code: int = 0) -> dict[str, dict[str, Any]]:
        done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *options], capture_output=True, text=True,
                              env=clean_environment(), timeout=120)
        self.stderr = done.stderr
        self.assertEqual(code, done.returncode, done.stderr)
        return {pattern["name"]: pattern for pattern in json.loads(done.stdout)["patterns"]} if done.stdout else {}

    def compiled(self, source: Path, *options: str) -> Path:
        """As the documentation says."""
        library = self.directory / f"{source.stem}.so"
        subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-shared", "-fPIC", f"-I{SOURCE}", *options, source, "-o",
                        library], check=True)
        return library

    def test_all_find_the_same(self) -> None:
        experiment = self.with_late_senders()
        library = self.compiled(SOURCE / "tests" / "apps" / "plugin_late_sender.cpp")
        python = self.analyze(experiment, "--plugin", self.file("late.py", LATE))
        native = self.analyze(experiment, "--plugin", library)
        truth = python["late_sender"]
        self.assertGreater(truth["severity_s"], 0.1)
        for found in (python["own_late_sender"], native["own_late_sender"]):
            self.assertEqual("late_sender", found["parent"])
            for key in ("severity_s", "by_callpath", "by_location", "confidence", "stands_for"):
                self.assertEqual(truth[key], found[key], key)
        figure = python["figure_one"]
        self.assertEqual((truth["severity_s"], 0.75, "p2p"), (figure["severity_s"], figure["confidence"], figure["parent"]))
        self.assertEqual([f"{round(truth['severity_s'] * 1e9)} ns"], figure["names"])
        self.assertEqual(python["late_sender"], native["late_sender"])
        archive = self.directory / "archive"
        subprocess.run([REFRAIN, "export", experiment, "-o", archive], check=True, capture_output=True, env=clean_environment())
        exported = self.analyze(archive / "traces.otf2", "--plugin", self.file("late.py", LATE), "--plugin", library,
                                code=4)
        self.assertIn(f"{library}: the pattern own_late_sender: there is one of this name", self.stderr)
        self.assertEqual(exported["late_sender"]["severity_s"], exported["own_late_sender"]["severity_s"])
        exported = self.analyze(archive / "traces.otf2", "--plugin", self.file("late.py", LATE))
        self.assertEqual(exported["late_sender"]["severity_s"], exported["own_late_sender"]["severity_s"])
        self.assertEqual(exported["late_sender"]["severity_s"], exported["figure_one"]["severity_s"])
        # Each call has an enter and an exit, and the events are those of `refrain events`.
        calls, enters, exits, collectives = map(int, exported["counts"]["names"])
        self.assertEqual((calls, calls), (enters, exits))
        shown = subprocess.run([REFRAIN, "events", archive / "traces.otf2", "--format", "json"], check=True,
                               capture_output=True, env=clean_environment())
        events = [event["event"] for event in json.loads(shown.stdout)["events"]]
        self.assertEqual(calls, events.count("enter"))
        self.assertGreater(collectives, 0)
        # A plug-in that was loaded is told what is set, and can be chosen.
        some = self.analyze(experiment, "--plugin", library, "--set", "least_ns=1000000000000")
        self.assertEqual(0, some["own_late_sender"]["severity_s"])
        some = self.analyze(experiment, "--plugin", self.file("late.py", LATE), "--set", "least_ns=1000000000000")
        self.assertEqual(0, some["own_late_sender"]["severity_s"])
        self.assertEqual({"figure_one"}, set(self.analyze(experiment, "--plugin", self.file("late.py", LATE), "--pattern",
                                                          "figure_one")))

    def test_an_error_is_named_and_takes_nothing_with_it(self) -> None:
        experiment = self.with_late_senders()
        plain = self.analyze(experiment)
        broken = self.file("broken.py", BROKEN)
        found = self.analyze(experiment, "--plugin", broken, code=4)
        line = 1 + BROKEN[:BROKEN.index("return 1 /")].count("\n")
        self.assertIn(f"broken: {broken}:{line}: ZeroDivisionError: division by zero", self.stderr)
        self.assertEqual((0, 1), (found["broken"]["confidence"], found["works"]["confidence"]))
        self.assertGreater(found["works"]["severity_s"], 0)
        self.assertEqual(plain, {name: of for name, of in found.items() if name not in ("broken", "works")})
        library = self.compiled(SOURCE / "tests" / "apps" / "plugin_late_sender.cpp", "-O1")
        found = self.analyze(experiment, "--plugin", library, "--set", "broken=", code=4)
        self.assertIn("broken: this pattern is broken", self.stderr)
        self.assertGreater(found["own_late_sender"]["severity_s"], 0)

        for text, said in {
            "class A:\n    def f(:\n": r"bad\.py:2: SyntaxError",
            "import nosuchmodule\n": r"bad\.py:1: ModuleNotFoundError: No module named 'nosuchmodule'",
            "x = 1\n": r"bad\.py: has no subclass of refrain\.patterns\.Pattern",
            "from refrain.patterns import Pattern\nclass A(Pattern):\n    def __init__(self):\n        raise ValueError('no')\n":
                r"bad\.py:4: ValueError: no",
        }.items():
            found = self.analyze(experiment, "--plugin", self.file("bad.py", text), code=4)
            self.assertRegex(self.stderr, said)
            self.assertEqual(plain, found)
        for path, said in {
            self.directory / "nothing.so": r"nothing\.so: there is no such file",
            self.file("text.so", "no library"): r"text\.so: cannot be loaded",
            REFRAIN.parent.parent / "lib" / "librefrain-openmpi.so": r"is no plug-in|cannot be loaded",
        }.items():
            found = self.analyze(experiment, "--plugin", path, code=4)
            self.assertRegex(self.stderr, said)
            self.assertEqual(plain, found)
        other = self.compiled(self.file("other.cpp", 'extern "C" const char* refrain_plugin_interface() { return "another"; }'))
        self.analyze(experiment, "--plugin", other, code=4)
        self.assertRegex(self.stderr, r'other\.so: was compiled for "another", this is "refrain patterns')
        parent = self.file("orphan.py", "from refrain.patterns import Pattern\nclass A(Pattern):\n    parent = 'nosuch'\n")
        self.assertEqual(plain, self.analyze(experiment, "--plugin", parent, code=4))
        self.assertIn(f'{parent}: the pattern a is a part of "nosuch": there is none of this name', self.stderr)
        self.analyze(experiment, "--set", "x", code=1)
        self.assertRegex(self.stderr, "--set.*must be NAME=VALUE")


    def test_what_a_module_may_do(self) -> None:
        """It prints, writes a file, has bases and second names, lies in an odd place beside an odd module."""
        experiment = self.with_late_senders()
        odd = self.directory / "a b"
        odd.mkdir()
        (odd / "inspect.py").write_text("raise RuntimeError('not the one of Python')")
        (odd / "helper.py").write_text("LIMIT = 7")
        (odd / "odd.py").write_text(AWKWARD)
        done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", "--plugin", "a b/odd.py"], cwd=self.directory,
                              capture_output=True, text=True, env=clean_environment({"PYTHONUNBUFFERED": ""}), timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)
        found = {pattern["name"]: pattern for pattern in json.loads(done.stdout)["patterns"]}
        self.assertGreater(found["real"]["severity_s"], 0)
        self.assertFalse({"alias", "abstract", "_shared", "shared"} & set(found))
        self.assertIn("said while it is loaded", done.stderr)
        self.assertEqual("x" * 40, (self.directory / "written").read_text())
        self.assertEqual(["main", "one_step", "MPI_Recv"], found["real"]["names"])
        (odd / "short.py").write_text("from refrain.patterns import Pattern\nclass S(Pattern):\n"
                                      "    def recv_callback(self, e): raise ValueError('a\\nb')\n")
        done = subprocess.run([REFRAIN, "analyze", experiment, "--plugin", "a b/short.py"], cwd=self.directory,
                              capture_output=True, text=True, env=clean_environment(), timeout=60)
        self.assertEqual((4, "refrain analyze: s: a b/short.py:3: ValueError: a b\n"), (done.returncode, done.stderr))

    def test_what_makes_no_sense_is_refused(self) -> None:
        experiment = self.with_late_senders()
        plain = self.analyze(experiment)
        for body, said in {
            "def severity(self): return float('inf')": "its severity is inf s",
            "def severity(self): return -3": "its severity is -3 s",
            "def severity(self): return 'much'": "what it returned cannot be used",
            "def confidence(self): return float('nan')": "its confidence is nan",
            "def recv_callback(self, e): self.add(e, ns=-5)": "ValueError: a time is below 0",
            "def recv_callback(self, e): e['callpath'] = 4000000000; self.add(e, 1)": "ValueError: there is no such call path",
            "def recv_callback(self, e): e['location'] = 99; self.add(e, 1)": "ValueError: there is no such location",
            "def call_callback(self, e): e['span'] = 10**6; self.add(e, 1)": "ValueError: there is no such span",
        }.items():
            text = f"from refrain.patterns import Pattern\nclass Odd(Pattern):\n    {body}\n"
            found = self.analyze(experiment, "--plugin", self.file("odd.py", text), code=4)
            self.assertIn(said, self.stderr)
            self.assertEqual((0, 0), (found["odd"]["confidence"], found["odd"]["severity_s"]), body)
            self.assertEqual(plain, {name: of for name, of in found.items() if name != "odd"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
