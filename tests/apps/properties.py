"""Experiments in databases, properties evaluated there, and runs compared: `refrain db`, `properties`, `asl` and `check`.

The truth is what reports say of the same experiments, and the delays that programs plant."""

from __future__ import annotations

import json
import os
import pwd
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

from refrain_testing import BUILD, FULL, MPIS, PROGRAMS, REFRAIN, Report, TestCase, clean_environment, mpiexec

MINE = """
// The paper's notation.
Property MyBarrier(Region r, TestRun t, Region Basis) {
LET float B = SUM(tt.Time WHERE tt IN r.TypTimes AND tt.Run==t AND tt.Type == Barrier);
IN CONDITION: B > 0; CONFIDENCE: 1;
SEVERITY: B / Duration(Basis,t);
}
"""


class Server:
    """PostgreSQL with a cluster of its own in a temporary folder. Its programs do not run as root."""

    def __init__(self) -> None:
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
        if not folders:
            raise unittest.SkipTest("no PostgreSQL here")
        self.folder = Path(tempfile.mkdtemp(prefix="refrain-postgresql-"))
        self.user = {}
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        programs, data = folders[-1], self.folder / "data"
        run = lambda *command: subprocess.run(command, check=True, capture_output=True, timeout=300, cwd=self.folder, **self.user)
        run(programs / "initdb", "-D", data, "-A", "trust", "-U", "refrain", "-E", "UTF8", "--locale=C", "--no-sync")
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        self.process = subprocess.Popen([programs / "postgres", "-D", data, *options], cwd=self.folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **self.user)
        os.chmod(self.folder, 0o755)
        deadline = time.monotonic() + 120
        while subprocess.run([programs / "pg_isready", "-q", "-h", self.folder, "-U", "refrain", "-d", "postgres"]).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise AssertionError("PostgreSQL does not start")
            time.sleep(0.1)
        self.programs, self.databases = programs, 0

    def fresh(self) -> str:
        """The address of an empty database."""
        self.databases += 1
        name = f"test{self.databases}"
        subprocess.run([self.programs / "createdb", "-h", self.folder, "-U", "refrain", name], check=True, timeout=60)
        return f"postgresql://refrain@/{name}?host={self.folder}"

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


class Properties(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=300, cwd=self.directory)
        self.assertEqual(code, done.returncode, done.stderr + done.stdout)
        return done

    def json(self, *words: Any, code: int = 0) -> dict[str, Any]:
        return json.loads(self.refrain(*words, "--format", "json", code=code).stdout)

    def run_of(self, mode: str, mpi: str = MPIS[0], steps: int = 30) -> Path:
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", mode, steps, 0.004, self.directory / "times"), {"REFRAIN_TRACE": "all"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.experiment

    def write(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path

    def check_database(self, database: str) -> None:
        experiment = self.run_of("barrier")
        mine = self.write("mine.asl", MINE)
        self.assertIn("run 1\n", self.refrain("db", "add", experiment, "--database", database, "--program", "waits", "--version", "a").stdout)
        self.assertIn("was in the database already", self.refrain("db", "add", experiment, "--database", database).stdout)
        other = self.run_of("recv", MPIS[-1])
        self.refrain("db", "add", other, "--database", database, "--program", "waits", "--version", "b'; DROP TABLE \"Region\"; --")
        runs = self.json("db", "list", "--database", database)["runs"]
        self.assertEqual([(1, "a", 2, str(experiment)), (2, "b'; DROP TABLE \"Region\"; --", 2, str(other))],
                         [(run["run"], run["version"], run["processes"], run["experiment"]) for run in runs])

        # A property of one's own, as the report has it.
        found = self.json("properties", "--database", database, "--run", 1, "--properties", mine)
        report = Report(experiment)
        main = next(c["inclusive_s"] for c in report.callpaths if c["path"] == ["main"])
        barrier = sum(c["exclusive_s"] for c in report.callpaths if c["path"][-1] == "MPI_Barrier")
        severity = {of["context"]["r"]: of["severity"] for of in found["properties"] if of["name"] == "MyBarrier"}
        self.assertAlmostEqual(barrier / main, severity["main"], delta=1e-9)
        self.assertEqual("main", found["basis"])
        ranked = [of["severity"] for of in found["properties"]]
        self.assertEqual(sorted(ranked, reverse=True), ranked)
        self.assertEqual(ranked[0], found["bottleneck"]["severity"])
        self.assertTrue(found["bottleneck"]["problem"])
        self.assertIn("not_evaluated", found)
        # Waiting, as the report has it.
        waits = sum(c.get("wait_s", 0) for c in report.callpaths if "main" in c["path"])
        severity = {of["context"]["r"]: of["severity"] for of in found["properties"] if of["name"] == "Waiting"}
        self.assertAlmostEqual(waits / main, severity["main"], delta=0.005)
        late = self.json("properties", "--database", database, "--version", "b'; DROP TABLE \"Region\"; --", "--property", "LateSender")
        self.assertGreater(late["bottleneck"]["severity"], 0.05)
        text = self.refrain("properties", "--database", database, "--run", 1).stdout
        self.assertRegex(text, r"The bottleneck is \w+ of .*: \d+\.\d % of the time of main, a problem, as it is more than 5 %\.")
        self.assertIn("Not evaluated:\n", text)
        self.assertRegex(self.refrain("properties", "--database", database, "--basis", "nobody", code=1).stderr, "has no region nobody")

        # All of it in a database of the other kind says the same.
        copy = self.directory / f"copy{random.random()}.sqlite"
        self.refrain("db", "export", copy, "--database", database)
        again = self.json("properties", "--database", copy, "--run", 1, "--properties", mine)
        self.assertEqual([(of["name"], of["context"]) for of in found["properties"]], [(of["name"], of["context"]) for of in again["properties"]])
        for of, same in zip(found["properties"], again["properties"]):
            self.assertAlmostEqual(of["severity"], same["severity"], delta=1e-12)
        self.assertIn("needs an empty database", self.refrain("db", "export", copy, "--database", database, code=1).stderr)

        # What was removed is gone, with all that was its own.
        self.assertEqual("removed run 2\n", self.refrain("db", "remove", "2", "--database", copy).stdout)
        self.assertEqual("removed run 1\n", self.refrain("db", "remove", experiment, "--database", copy).stdout)
        connection = sqlite3.connect(copy)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        left = {name: connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in tables if not name.startswith("sqlite_")}
        connection.close()
        self.assertEqual({"Metric", "refrain_about"}, {name for name, count in left.items() if count > 0})

    def test_sqlite(self) -> None:
        self.check_database(str(self.directory / "experiments.sqlite"))

    def test_postgresql(self) -> None:
        server = Server()
        self.addCleanup(server.stop)
        self.check_database(server.fresh())
        # Random properties of random databases.
        env = clean_environment({"FULL_TESTS": "1" if FULL else "0"}) | {"REFRAIN_TEST_POSTGRESQL": server.fresh()}
        if not FULL:
            env.pop("FULL_TESTS")
        done = subprocess.run([BUILD / "tests" / "bin" / "test_properties", "--gtest_filter=Differential.postgresql*"], env=env, capture_output=True, text=True, timeout=800)
        self.assertEqual(0, done.returncode, done.stdout[-3000:])
        self.assertIn("[  PASSED  ] 1 test", done.stdout)
        self.assertRegex(self.refrain("db", "list", "--database", "postgresql://nobody:secret@127.0.0.1:1/none", code=1).stderr,
                         r"refrain db: postgresql://nobody@127\.0\.0\.1:1/none: ")

    def test_a_loader_that_is_killed_leaves_nothing(self) -> None:
        experiment, database = self.run_of("barrier"), self.directory / "killed.sqlite"
        self.refrain("db", "add", self.run_of("recv"), "--database", database)
        draw = random.Random(3)
        for _ in range(20):
            loader = subprocess.Popen([REFRAIN, "db", "add", experiment, "--database", database], env=clean_environment(), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(draw.random() * 0.3)
            os.killpg(loader.pid, signal.SIGKILL)
            loader.wait()
            if len(self.json("db", "list", "--database", database)["runs"]) == 2:  # it was fast enough
                self.refrain("db", "remove", experiment, "--database", database)
            connection = sqlite3.connect(database)
            self.assertEqual([("ok",)], connection.execute("PRAGMA integrity_check").fetchall())
            self.assertEqual([(1,)], connection.execute('SELECT COUNT(*) FROM "TestRun"').fetchall())
            self.assertEqual([(0,)], connection.execute('SELECT COUNT(*) FROM "TotalTiming" WHERE "Run" NOT IN (SELECT run FROM refrain_runs)').fetchall())
            connection.close()

    def test_several_loaders_at_once(self) -> None:
        experiments, database = [self.run_of(mode) for mode in ("barrier", "recv", "allreduce", "ssend")], self.directory / "together.sqlite"
        loaders = [subprocess.Popen([REFRAIN, "db", "add", *map(str, random.sample(experiments, 4)), "--database", str(database)], env=clean_environment(),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        for loader in loaders:
            _, errors = loader.communicate(timeout=300)
            self.assertEqual(0, loader.returncode, errors)
        runs = self.json("db", "list", "--database", database)["runs"]
        self.assertEqual(sorted(map(str, experiments)), sorted(run["experiment"] for run in runs))

    def test_mistakes(self) -> None:
        wrong = self.write("wrong.asl", MINE.replace("r.TypTimes", "r.TipTimes"))
        done = self.refrain("asl", "check", wrong, code=1)
        self.assertIn(f"{wrong}:4:41: Region has no attribute TipTimes; did you mean TypTimes?\n", done.stderr)
        self.assertIn("^", done.stderr)
        self.assertIn("1 property, no mistake", self.refrain("asl", "check", self.write("mine.asl", MINE)).stdout)
        self.assertIn("there is no such database", self.refrain("properties", "--database", "none.sqlite", code=1).stderr)
        self.assertFalse((self.directory / "none.sqlite").exists())
        self.assertRegex(self.refrain("db", "list", "--database", self.write("text.sqlite", "no database" * 100), code=1).stderr, "file is not a database")
        self.assertRegex(self.refrain("db", "add", self.directory / "nothing", "--database", "new.sqlite", code=2).stderr, "nothing")
        self.assertRegex(self.refrain("asl", "sql", "Nothing", code=1).stderr, "there is no property Nothing; there are SublinearSpeedup, ")
        # The statement that is printed is one that the database's own shell understands, with the schema that is printed.
        for name in ("LoadImbalance", "Drift"):
            connection = sqlite3.connect(":memory:")
            connection.executescript(self.refrain("asl", "schema").stdout)
            self.assertEqual([], connection.execute(self.refrain("asl", "sql", name).stdout.rstrip().rstrip(";"), {"Basis": 1}).fetchall())

    def loop(self, microseconds: int, name: str) -> Path:
        outcome = self.measured([PROGRAMS / "check_loop", 400, microseconds], {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / name)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return self.directory / name

    def test_check(self) -> None:
        """Twice the time is far above what other processes do to a quarter of the iterations, and so is what is tolerated."""
        first, second, slow = self.loop(500, "first"), self.loop(500, "second"), self.loop(1000, "slow")
        same = self.refrain("check", second, "--against", first, "--tolerance", 30)
        self.assertIn("nothing is worse", same.stdout)
        self.assertIn("note: with one run to compare with", same.stdout)
        worse = self.refrain("check", slow, "--against", first, "--against", second, "--tolerance", 30, code=3)
        self.assertRegex(worse.stdout, r"slower: loop step: \d+\.\d+ (ms|us) per iteration, before \d+\.\d+ (ms|us) \(\+\d+\.\d %\)")
        self.assertRegex(worse.stdout, r"slower: main > step > relax: ")
        said = self.json("check", slow, "--against", first, "--tolerance", 30, code=3)
        self.assertFalse(said["passed"])
        of_loop = next(of for of in said["comparisons"] if of["path"] == "")
        self.assertGreater(of_loop["difference_low_s"], 200e-6)
        suite = xml.fromstring(self.refrain("check", slow, "--against", first, "--tolerance", 30, "--format", "junit", code=3).stdout).find("testsuite")
        failed = {case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None}
        self.assertLessEqual({"loop step", "main > step > relax"}, failed)
        self.assertEqual(int(suite.get("failures")), len(failed))
        # Properties instead of a run.
        rule = self.write("rule.asl", 'PROPERTY TooMuch(Loop l, TestRun t, Region Basis) { CONDITION: l.Count > 300; CONFIDENCE: 1; SEVERITY: 0.5; }')
        self.assertIn("property: TooMuch of step: 50.00 % of the time of main", self.refrain("check", first, "--properties", rule, code=3).stdout)
        self.refrain("check", first, "--properties", rule, "--threshold", 0.6)
        self.assertIn("nothing to check", self.refrain("check", first, code=1).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
