"""Experiments in databases, properties evaluated there, and runs compared: `refrain db`, `properties`, `asl` and `check`.

The truth is what reports say of the same experiments, and the delays that programs plant."""

from __future__ import annotations

import csv
import io
import json
import os
import pwd
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tarfile
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

from analyze import calls_of, truth
from refrain_testing import BUILD, FULL, MPIS, PROGRAMS, REFRAIN, Report, TestCase, alone, clean_environment, mpiexec

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


def cubex(order: str = "<", ranks: int = 2, barrier: str = "MPI_Barrier", slower: float = 1) -> bytes:
    """A profile as Score-P writes it, of two ranks or the first of them. Inclusive seconds, times `slower`, and visits:

        main        10 12     1 1
          solve      6  7     2 2
            MPI_Recv 2  1     4 4
          MPI_Barrier 1 3     5 5
    """
    names = ["main", "solve", "MPI_Recv", barrier]
    regions = "".join(f'<region id="{i}"><name>{name}</name><paradigm>{"mpi" if i > 1 else "compiler"}</paradigm></region>'
                      for i, name in enumerate(names))
    locations = "".join(f'<locationgroup Id="{r}"><rank>{r}</rank><location Id="{r}"><name>Master thread</name><rank>0</rank></location></locationgroup>'
                        for r in range(ranks))
    anchor = f"""<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><attr key="Creator" value="by hand"/><metrics>
<metric id="0" type="EXCLUSIVE"><uniq_name>visits</uniq_name><dtype>UINT64</dtype><uom>occ</uom></metric>
<metric id="1" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric>
<metric id="2" type="EXCLUSIVE"><uniq_name>min_time</uniq_name><dtype>MINDOUBLE</dtype><uom>sec</uom></metric>
</metrics><program>{regions}<cnode id="0" calleeId="0"><cnode id="1" calleeId="1"><cnode id="2" calleeId="2"></cnode></cnode>
<cnode id="3" calleeId="3"></cnode></cnode></program><system><systemtreenode Id="0"><name>machine</name>{locations}</systemtreenode></system></cube>"""
    # Level by level: main, solve, MPI_Barrier, MPI_Recv; visits from top to bottom.
    times = [slower * second for row in ((10, 12), (6, 7), (1, 3), (2, 1)) for second in row[:ranks]]
    visits = [count for row in ((1, 1), (2, 2), (4, 4), (5, 5)) for count in row[:ranks]]
    head = struct.pack(order + "IHB", 1, 0, 1) + struct.pack(order + "I4I", 4, 0, 1, 2, 3)
    files = {"anchor.xml": anchor.encode(), "0.index": b"CUBEX.INDEX" + head, "1.index": b"CUBEX.INDEX" + head,
             "0.data": b"CUBEX.DATA" + struct.pack(f"{order}{len(visits)}Q", *visits),
             "1.data": b"CUBEX.DATA" + struct.pack(f"{order}{len(times)}d", *times)}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


class Properties(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=300, cwd=self.directory)
        self.assertEqual(code, done.returncode, done.stderr + done.stdout)
        return done

    def json(self, *words: Any, code: int = 0) -> dict[str, Any]:
        return json.loads(self.refrain(*words, "--format", "json", code=code).stdout)

    def rows(self, *words: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.refrain(*words, "--format", "csv").stdout)))

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
        self.assertEqual([run["experiment"] for run in runs], [row["experiment"] for row in self.rows("db", "list", "--database", database)])

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
        rows = self.rows("properties", "--database", database, "--run", 1, "--properties", mine, "--limit", 0)
        self.assertEqual([(of["name"], ";".join(f"{name}={value}" for name, value in of["context"].items())) for of in found["properties"]],
                         [(row["name"], row["context"]) for row in rows])
        # Of all that MPI costs the barrier is most, and in it waiting.
        # (Or it takes longer to begin than to run.)
        self.assertIn(found["bottleneck"]["name"], ("WaitAtBarrier", "LoadImbalance", "StartupCost", "WaitAtStart"))
        self.assertTrue(found["bottleneck"]["problem"])
        self.assertIn("not_evaluated", found)
        # Waiting, as the report has it.
        waits = sum(c.get("wait_s", 0) for c in report.callpaths if "main" in c["path"])
        severity = {of["context"]["r"]: of["severity"] for of in found["properties"] if of["name"] == "Waiting"}
        self.assertAlmostEqual(waits / main, severity["main"], delta=0.005)
        late = self.json("properties", "--database", database, "--version", "b'; DROP TABLE \"Region\"; --", "--property", "LateSender")
        # Of the time of main, which contains what the launcher needs.
        main = next(c["inclusive_s"] for c in Report(other).callpaths if c["path"] == ["main"])
        self.assertGreater(late["bottleneck"]["severity"] * main, 0.2 * 30 * 0.004, f"severity of {main} s")
        text = self.refrain("properties", "--database", database, "--run", 1).stdout
        self.assertRegex(text, r"The bottleneck is \w+ of .*: \d+\.\d % of the time of main, a problem, as it is more than 5 %\.")
        self.assertIn("Not evaluated:\n", text)
        # main waits only in what it calls.
        about = lambda *words: re.findall(r" Waiting  (\S+)\n", self.refrain("properties", "--database", database, "--run", 1, "--property", "Waiting", *words).stdout)
        innermost, every = about(), about("--all", "--limit", 0)
        self.assertIn("main", every)
        self.assertNotIn("main", innermost)
        self.assertLess(set(innermost), set(every))
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

    @alone
    def test_sqlite(self) -> None:
        self.check_database(str(self.directory / "experiments.sqlite"))
        self.check_names(str(self.directory / "names.sqlite"))

    @alone
    def test_postgresql(self) -> None:
        server = Server()
        self.addCleanup(server.stop)
        self.check_database(server.fresh())
        self.check_names(server.fresh())
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

    def test_a_profile_of_score_p(self) -> None:
        for order in "<>":
            profile, database = self.directory / f"profile{ord(order)}.cubex", f"foreign{ord(order)}.sqlite"
            profile.write_bytes(cubex(order))
            self.refrain("db", "add", profile, "--database", database, "--program", "code", "--version", "1")
            self.assertIn("was in the database already", self.refrain("db", "add", profile, "--database", database).stdout)
            (run,) = self.json("db", "list", "--database", database)["runs"]
            self.assertEqual((2, "cubex", "code", 12.0), (run["processes"], run["source"], run["program"], run["elapsed_s"]))
            found = {(of["name"], of["context"].get("r", of["context"].get("Call"))): of["severity"]
                     for of in self.json("properties", "--database", database)["properties"]}
            self.assertAlmostEqual(4 / 22, found["SyncCost", "main"])
            self.assertAlmostEqual(3 / 22, found["PointToPointCost", "solve"])
            self.assertAlmostEqual(7 / 22, found["MeasuredCost", "main"])
            # 1 and 3 seconds: their mean is 2, their deviation 1.
            self.assertAlmostEqual(2 * 2 / 22, found["LoadImbalance", "MPI_Barrier in main"])
            connection = sqlite3.connect(self.directory / database)
            calls = connection.execute('SELECT "MinCalls", "MeanCalls", "StdevTime", "MaxTimePe" FROM "CallTiming" t JOIN "FunctionCall" c ON c.id = t."FunctionCall_Sums" '
                                       'JOIN "Function" f ON f.id = c."Callee" WHERE f."Name" = \'MPI_Barrier\'').fetchall()
            connection.close()
            self.assertEqual([(5, 5, 1, 1)], calls)

    def test_scaling(self) -> None:
        """One process needs 10 s, two need 10 and 12 s."""
        database = self.directory / "scaling.sqlite"
        for name, profile in (("one", cubex(ranks=1)), ("two", cubex())):
            self.write(f"{name}.cubex", "").write_bytes(profile)
            self.refrain("db", "add", f"{name}.cubex", "--database", database, "--program", "code", "--version", "1")
        scaling = self.json("scaling", "--database", database, "--min-share", 0)
        regions = {of["region"]: of["by_processes"] for of in scaling["regions"]}
        self.assertEqual(1, scaling["fewest_processes"])
        one, two = regions["main"]
        self.assertEqual((1, 1, 10, 1, 1, 0), tuple(one[name] for name in ("processes", "runs", "seconds", "speedup", "efficiency", "lost_s")))
        self.assertEqual((2, 1, 11), (two["processes"], two["runs"], two["seconds"]))
        self.assertAlmostEqual(2 * 10 / 22, two["speedup"])
        self.assertAlmostEqual(10 / 22, two["efficiency"])
        self.assertAlmostEqual(12, two["lost_s"])
        self.assertRegex(self.refrain("scaling", "MPI_Barrier", "--database", database).stdout, r"MPI_Barrier +1 +1 ")
        self.assertEqual([("main", "1"), ("main", "2")], [(row["region"], row["processes"]) for row in self.rows("scaling", "main", "--database", database)])
        self.assertIn("has a region nobody", self.refrain("scaling", "nobody", "--database", database, code=1).stderr)
        self.assertNotIn("deviation", self.refrain("scaling", "main", "--database", database).stdout, "there is one run of each size")

        # Again, and a fifth slower: 10 and 12 s on one process, 22 and 26.4 s on two.
        for ranks in (1, 2):
            self.write(f"slow{ranks}.cubex", "").write_bytes(cubex(ranks=ranks, slower=1.2))
            self.refrain("db", "add", f"slow{ranks}.cubex", "--database", database, "--program", "code", "--version", "1")
        one, two = self.json("scaling", "main", "--database", database)["regions"][0]["by_processes"]
        self.assertEqual((2, 2), (one["runs"], two["runs"]))
        self.assertAlmostEqual(11, one["seconds"])
        self.assertAlmostEqual(2 ** 0.5, one["deviation_s"])
        self.assertAlmostEqual(1.1 * 2 ** 0.5, two["deviation_s"])
        self.assertAlmostEqual(11 / 24.2, two["efficiency"])
        self.assertAlmostEqual(two["efficiency"] * (1 / 11) * 2 ** 0.5, two["efficiency_error"])
        self.assertNotIn("efficiency_error", one)

    def test_losses_are_compared_with_the_errors_of_both_runs_and_of_the_same_time(self) -> None:
        """solve needs 4 s by itself on one process and 10 s on two. An error of 3 s of either hides 6 s; one of its inclusive time does not."""
        database = self.directory / "errors.sqlite"
        for name, profile in (("one", cubex(ranks=1)), ("two", cubex()), ("later", cubex(barrier="MPI_Allreduce"))):
            self.write(f"{name}.cubex", "").write_bytes(profile)
            self.refrain("db", "add", f"{name}.cubex", "--database", database, "--program", "code", "--version", "1")

        def change(sql: str) -> None:
            connection = sqlite3.connect(database)
            with connection:
                connection.execute(sql)
            connection.close()

        def holds(run: int, name: str) -> bool:
            found = self.json("properties", "--database", database, "--run", run, "--property", name)["properties"]
            return "solve" in {of["context"].get("p", of["context"].get("r", "")).split(" > ")[-1] for of in found}

        change("""UPDATE "TestRun" SET "Start" = '2026-01-0' || "id" || 'T00:00:00Z'""")
        change('UPDATE "TotalTiming" SET "Incl" = "Incl" / 2 WHERE "Run" = 2')  # solve took 6.5 s, and takes 13 s later
        for table, kind, run, before, right, other in (("PathTiming", "ScalingLoss", 2, 1, "ExclError", "Error"),
                                                       ("TotalTiming", "SlowerThanBefore", 3, 2, "Error", None)):
            self.assertTrue(holds(run, kind))
            for of in (run, before):
                change(f'UPDATE "{table}" SET "{right}" = 3 WHERE "Run" = {of}')
                self.assertFalse(holds(run, kind), f"{kind}: the error of run {of}")
                change(f'UPDATE "{table}" SET "{right}" = 0 WHERE "Run" = {of}')
                if other:
                    change(f'UPDATE "{table}" SET "{other}" = 3 WHERE "Run" = {of}')
                    self.assertTrue(holds(run, kind), f"{kind}: {other} of run {of}")

    def test_damaged_profiles_of_score_p_are_refused_in_one_line(self) -> None:
        """Whatever is changed in one, the command ends by itself: it takes what it is, or says what is wrong."""
        good, draw, profile = cubex(), random.Random(5), self.directory / "damaged.cubex"
        refused = 0
        for trial in range(2000 if FULL else 150):
            data = bytearray(good)
            if trial % 3 == 0:
                del data[draw.randrange(len(data)):]
            for _ in range(draw.choice((1, 1, 4))):
                if data:
                    data[draw.randrange(len(data))] = draw.randrange(256)
            profile.write_bytes(data)
            done = subprocess.run([REFRAIN, "db", "add", profile, "--database", ":memory:"], capture_output=True, text=True, errors="replace", env=clean_environment(), timeout=60)
            self.assertIn(done.returncode, (0, 2), (trial, done.stderr))
            if done.returncode == 2:
                refused += 1
                self.assertRegex(done.stderr, r"\Arefrain db: .*damaged\.cubex.*\n\Z")
        self.assertGreater(refused, 20)

    def severities(self, experiment: Path, *words: Any) -> tuple[dict[tuple[str, ...], float], dict[str, Any]]:
        """In seconds, by the name of a property and what it is about; and all of it."""
        database = self.directory / f"{experiment.name}.sqlite"
        self.refrain("db", "add", experiment, "--database", database)
        found = self.json("properties", "--database", database, *words)
        connection = sqlite3.connect(database)
        ((duration,),) = connection.execute('SELECT "Incl" FROM "TotalTiming" t JOIN "Region" r ON r.id = t."Region_TotTimes" WHERE r."Name" = \'main\'').fetchall()
        ((of_paths, of_locations),) = connection.execute(
            'SELECT (SELECT SUM("Excl") FROM "PathTiming"), (SELECT SUM(s."Value") FROM "Severity" s JOIN "Metric" m ON m.id = s."Of" WHERE m."Name" = \'wall\')').fetchall()
        off_cpu = connection.execute('SELECT "NotOnCpu", "WaitedForCore" + "Blocked" FROM "Location" WHERE "Blocked" IS NOT NULL').fetchall()
        connection.close()
        self.assertAlmostEqual(of_paths, of_locations, delta=1e-9 * of_paths)
        for whole, parts in off_cpu:
            self.assertAlmostEqual(whole, parts, delta=1e-6)
        return {(of["name"], *(name for name in of["context"].values() if name not in (found["experiment"], "main"))): of["severity"] * duration
                for of in found["properties"] if of["context"].get("r", "main") == "main"}, found

    # Of a way to wait (tests/apps/analyze_waits.c): the property that finds it, and the pattern of which the truth is. A receive from a
    # synchronous send waits, too, in the other half of the steps.
    WAITS = {"recv": ("LateSender", "late_sender"), "ssend": ("LateReceiver", "late_receiver"), "allreduce": ("WaitAtAllToAll", "wait_at_nxn"),
             "barrier": ("WaitAtBarrier", "wait_at_barrier"), "bcast": ("LateBroadcast", "late_broadcast"), "reduce": ("EarlyReduce", "early_reduce"),
             "fence": ("OneSidedWaiting", "wait_at_fence")}

    @alone
    def test_planted_waits_are_found_first_and_in_their_size(self) -> None:
        steps, delay = 60, 0.005
        for i, (mode, (name, pattern)) in enumerate(self.WAITS.items()):
            mpi = MPIS[i % len(MPIS)]
            with self.subTest(mode=mode, mpi=mpi):
                times = self.directory / f"times-{mode}"
                outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", mode, steps, delay, times), {"REFRAIN_TRACE": "all"})
                self.assertEqual(0, outcome.code, outcome.stderr)
                of_patterns = truth(mode, calls_of(times, 0), calls_of(times, 1))
                planted = {property: sum(of_patterns[of]) for property, of in self.WAITS.values() if of in of_patterns}
                self.assertGreater(planted[name], 0.2 * steps * delay)
                found, _ = self.severities(outcome.experiment)
                # Where it is not planted, barriers keep the steps apart.
                waits = {of: found.get((of,), 0) for of, _ in self.WAITS.values() if of in planted or of != "WaitAtBarrier"}
                largest = sorted(waits, key=lambda of: -waits[of])[:len(planted)]
                self.assertEqual(set(planted), set(largest), found)
                for of, seconds in planted.items():
                    self.assertAlmostEqual(seconds, waits[of], delta=0.05 * seconds + steps * 2 * 20e-6)

    @alone
    def test_planted_changes_of_iterations_are_found_first_and_in_their_size(self) -> None:
        n, seconds = 100, 0.005
        # Seconds: what iterations take more than the first one; more than the mean; than the others.
        mean = seconds * (1 + 9 * 4 / n)
        kinds = {"drift": ("Drift", seconds * n / 2), "outlier": ("OutlierIterations", 4 * (10 * seconds - mean)), "first": ("SlowFirstIteration", 19 * seconds)}
        of_loops = {"Drift", "GrowingWork", "GrowingCommunication", "OutlierIterations", "UnevenIterations", "SlowFirstIteration"}
        for kind, (name, planted) in kinds.items():
            with self.subTest(kind=kind):
                # Other processes change how long iterations take. A wrong size would be wrong each time, so one run of five decides.
                for last in [False] * 4 + [True]:
                    found, said = self.planted_loop(kind, n, seconds, "--basis", "main")
                    changes = {of[0]: size for of, size in found.items() if of[0] in of_loops}
                    largest = max(changes, key=changes.get, default="")
                    if largest == name and abs(changes[name] - planted) <= 0.05 * planted: break
                    self.assertFalse(last, f"{name} should be {planted} s\n{said}")
        found, said = self.planted_loop("even", n, seconds)
        self.assertEqual(set(), {of[0] for of in found} & (of_loops - {"OutlierIterations", "SlowFirstIteration"}), said)

    def planted_loop(self, kind: str, iterations: int, seconds: float, *words: Any) -> tuple[dict[tuple[str, ...], float], dict[str, Any]]:
        """A run of it, as severities() has it."""
        shutil.rmtree(self.directory / kind, ignore_errors=True)
        (self.directory / f"{kind}.sqlite").unlink(missing_ok=True)
        command = [PROGRAMS / "planted_loop", kind, iterations, int(seconds * 1e6)]
        outcome = self.measured(command, {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / kind)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return self.severities(self.directory / kind, *words)

    def check_names(self, database: str) -> None:
        """Names of functions that would end a string, or are no UTF-8."""
        draw, hostile = random.Random(9), ["'; DROP TABLE \"Region\"; --", 'a"b', "\\' OR 1=1", "%s{}:Basis$1", "MPI_", "é", "x" * 5000]
        hostile += ["".join(chr(draw.choice((39, 34, 92, 59, 36, 58, 123, 125, draw.randrange(0xA1, 0x2FF)))) for _ in range(draw.randrange(1, 40))) for _ in range(60)]
        hostile = list(dict.fromkeys(hostile))  # a profile that is there already is not added
        escaped = lambda name: "".join(f"&#{ord(c)};" for c in name)
        for number, name in enumerate(hostile):
            profile = self.directory / f"hostile{number}.cubex"
            profile.write_bytes(cubex(barrier=escaped(name)))
            self.refrain("db", "add", profile, "--database", database, "--program", name, "--version", "1")
        runs = self.json("db", "list", "--database", database)["runs"]
        self.assertEqual(set(hostile), {run["program"] for run in runs})
        every = self.write("every.asl", "PROPERTY Every(Function f, TestRun t) { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }")
        for name in hostile[:6]:
            found = self.json("properties", "--database", database, "--program", name, "--properties", every, "--property", "Every", "--basis", "main")
            self.assertEqual({"main", "solve", "MPI_Recv", name}, {of["context"]["f"] for of in found["properties"]})

    def loop(self, microseconds: int, name: str, again: int | None = None) -> Path:
        words = [400, microseconds] + ([again] if again else [])
        shutil.rmtree(self.directory / name, ignore_errors=True)
        outcome = self.measured(mpiexec(MPIS[0], 1, PROGRAMS / f"marked_steps_{MPIS[0]}", *words), {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / name)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return self.directory / name

    @alone
    @unittest.skipUnless(FULL, "40 runs")
    def test_equal_runs_on_a_busy_machine_raise_no_alarm(self) -> None:
        """The stated rate is 1 %: five alarms in 20 pairs would be seen once in 700,000 runs of this test."""
        busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
        alarms = []
        try:
            for pair in range(20):
                runs = []
                for which in "ab":
                    outcome = self.measured(mpiexec(MPIS[pair % len(MPIS)], 2, PROGRAMS / f"marked_steps_{MPIS[pair % len(MPIS)]}", 300, 1000),
                                            {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / f"{pair}{which}")})
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    runs.append(self.directory / f"{pair}{which}")
                checked = subprocess.run([REFRAIN, "check", runs[1], "--against", runs[0]], capture_output=True, text=True, timeout=120)
                self.assertIn(checked.returncode, (0, 3), checked.stderr)
                if checked.returncode == 3:
                    alarms.append(checked.stdout)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        print(f"{len(alarms)} false alarms in 20 pairs of runs", flush=True)
        self.assertLess(len(alarms), 5, "\n".join(alarms))

    @alone
    def test_check(self) -> None:
        self.undisturbed(self.check_runs, fair_runs=3)

    def check_runs(self) -> None:
        """Twice the time is far above what other processes do to a quarter of the iterations, and so is what is tolerated."""
        first, second, slow = self.loop(500, "first"), self.loop(500, "second"), self.loop(1000, "slow")
        same = self.refrain("check", second, "--against", first, "--tolerance", 30)
        self.assertIn("nothing is worse", same.stdout)
        self.assertRegex(self.refrain("check", second, "--against", first, "--tolerance", 30, "--all").stdout,
                         r"(?m)^(as before|differs|cannot be told): loop step: .*95 %")
        self.assertIn("note: with fewer than 4 runs to compare with", same.stdout)
        worse = self.refrain("check", slow, "--against", first, "--against", second, "--tolerance", 30, code=3)
        self.assertRegex(worse.stdout, r"slower: loop step: \d+\.\d+ (ms|us) per iteration, before \d+\.\d+ (ms|us) \(\+\d+\.\d %\)")
        self.assertRegex(worse.stdout, r"slower: relax: ")
        said = self.json("check", slow, "--against", first, "--tolerance", 30, code=3)
        self.assertFalse(said["passed"])
        of_loop = next(of for of in said["comparisons"] if of["path"] == "")
        self.assertGreater(of_loop["difference_low_s"], 200e-6)
        suite = xml.fromstring(self.refrain("check", slow, "--against", first, "--tolerance", 30, "--format", "junit", code=3).stdout).find("testsuite")
        failed = {case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None}
        self.assertLessEqual({"loop step", "loop step: relax"}, failed)
        self.assertEqual(int(suite.get("failures")), len(failed))
        # The same call path in two loops is two cases.
        one, other = self.loop(500, "one", 500), self.loop(500, "other", 1000)
        suite = xml.fromstring(self.refrain("check", other, "--against", one, "--tolerance", 30, "--format", "junit", code=3).stdout).find("testsuite")
        cases = {case.get("name"): case.find("failure") is not None for case in suite.findall("testcase")}
        self.assertEqual((False, True), (cases["loop step: relax"], cases["loop again: relax"]), cases)
        # Properties instead of a run.
        rule = self.write("rule.asl", 'PROPERTY TooMuch(Loop l, TestRun t, Region Basis) { CONDITION: l.Count > 300; CONFIDENCE: 1; SEVERITY: 0.5; }')
        self.assertIn("property: TooMuch of step: 50.00 % of the time of main", self.refrain("check", first, "--properties", rule, code=3).stdout)
        self.refrain("check", first, "--properties", rule, "--threshold", 0.6)
        self.assertIn("nothing to check", self.refrain("check", first, code=1).stderr)
        # What cannot be told is no success.
        unknown = self.write("unknown.asl", 'PROPERTY Unknown(Region r, TestRun t) { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1.0 / 0; }')
        self.assertIn("not checked: Unknown was not evaluated: its severity is not known in ", self.refrain("check", first, "--properties", unknown, code=1).stdout)
        unmarked = self.directory / "unmarked"
        shutil.rmtree(unmarked, ignore_errors=True)
        self.assertEqual(0, self.measured([PROGRAMS / "truth_no_mpi"], {"REFRAIN_EXPERIMENT_DIRECTORY": str(unmarked)}).code)
        self.assertIn("not checked: loop step was not compared: not all runs have it", self.refrain("check", unmarked, "--against", first, code=1).stdout)
        self.assertIn("not checked: no loop is marked, so 4 runs", self.refrain("check", unmarked, "--against", unmarked, code=1).stdout)
        self.refrain("check", unmarked, *["--against", unmarked] * 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
