"""Programs as Debian builds them, under `refrain run`: output unchanged but for their own timings, counts as their own or
an independent counter's, all time accounted for."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import unittest
from pathlib import Path

from examples_exact import POINT_TO_POINT, without_timings
from refrain_testing import FULL, PROGRAMS, REFRAIN, SOURCE, Outcome, Report, TestCase, mpiexec, on_a_terminal

EXAMPLES = Path("/usr/share/lammps/examples")
PYTHON = "/usr/bin/python3"  # Debian's, which Debian's python3-mpi4py is for
SCRIPT = SOURCE / "tests" / "apps" / "mpi4py_script.py"
PYTHON_ROUNDS = 50

# What LAMMPS computes: folder and input of its examples, and how many steps of each run are made.
INPUTS = {
    "lj/cut, fix setforce and temp/rescale": ("friction", "in.friction", 300),
    "eam": ("shear", "in.shear", 10),
    "granular, fix pour": ("pour", "in.pour.2d", 300),
    "rigid bodies": ("rigid", "in.rigid", 50),
    "peridynamics": ("peri", "in.peri.pmb", 10),
    "charmm, pppm, shake": ("peptide", "in.peptide", 20),
}


class Debian(TestCase):
    def need(self, program: str) -> None:
        if shutil.which(program) is None:
            self.fail(f"{program} is not installed: scripts/lib/setup.sh says which package has it")

    def both(self, command: list[object], env: dict[str, str] | None = None) -> tuple[Outcome, Outcome]:
        plain = self.plain(command, env)
        self.assertEqual(0, plain.code, plain.stderr)
        outcome = self.measured(command, env)
        self.assert_same_result(plain, outcome)
        return plain, outcome


class Lammps(Debian):
    def counted(self, *command: str) -> dict[str, dict[str, int]]:
        """Runs the program under the independent counter alone."""
        counts = self.directory / "counts.json"
        preload = f"LD_PRELOAD={PROGRAMS / 'libtruth_counter.so'}"
        outcome = self.plain(mpiexec("openmpi", 2, "env", preload, *command), {"COUNTER_FILE": str(counts)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return json.loads(counts.read_text())

    def test_inputs(self) -> None:
        self.need("lmp")
        for what, (folder, name, steps) in INPUTS.items():
            if not (EXAMPLES / folder / name).exists():
                self.fail(f"there is no {EXAMPLES / folder / name}: the package lammps-examples is missing")
            with self.subTest(what):
                for file in (EXAMPLES / folder).iterdir():
                    if file.is_file() and not file.name.startswith("log."):
                        shutil.copy(file, self.directory)
                text = (EXAMPLES / folder / name).read_text()
                text, runs = re.subn(r"(?m)^run\s+\d+.*$", f"run {steps * (10 if FULL else 1)}", text)
                self.assertGreater(runs, 0)
                (self.directory / name).write_text(text)
                command = ("lmp", "-in", name, "-log", "none")
                plain = self.plain(mpiexec("openmpi", 2, *command))
                self.assertEqual(0, plain.code, plain.stderr)
                outcome = self.measured(mpiexec("openmpi", 2, *command))
                self.assertEqual(0, outcome.code, outcome.stderr)
                self.assertEqual(without_timings(plain.stdout), without_timings(outcome.stdout))
                self.assertIn(b"Loop time", outcome.stdout)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                self.assertEqual((2, "complete"), (report.data["experiment"]["ranks"], report.data["experiment"]["state"]))
                truth = self.counted(*command)
                self.assertEqual({call: row["visits"] for call, row in truth.items()},
                                 {call: report.of_function(call, "visits") for call in truth})
                # The counter knows nothing of the bytes of collectives.
                calls = [*POINT_TO_POINT, "MPI_Irecv", "MPI_Wait", "MPI_Waitany", "MPI_Waitall"]
                for column in ("messages_sent", "bytes_sent", "messages_received", "bytes_received"):
                    self.assertEqual(sum(row[column] for row in truth.values()),
                                     sum(report.of_function(call, column) for call in calls), column)
                self.assertGreater(report.below("LAMMPS_NS::Verlet::run(int)", "visits"), 0)
                page = on_a_terminal([REFRAIN, "report", outcome.experiment], columns=100)
                # Beside other processes there is more to say; then the tree is cut as far as it may be, the sentences are not.
                if "call paths below 10 %" not in page:
                    self.assertLessEqual(len(page.splitlines()), 40, "it is to be seen at once:\n" + page)


class NetPipe(Debian):
    """NetPIPE prints, for each size, how often it sends a message in each of three trials."""

    LINE = re.compile(r"(?m)^ *\d+: +(\d+) bytes +(\d+) times")

    def test_mpi(self) -> None:
        self.need("NPopenmpi")
        command = mpiexec("openmpi", 2, "NPopenmpi", "-l", 1, "-u", 4096, "-n", 20, "-p", 0, "-o", "np.out")
        plain, outcome = self.plain(command), self.measured(command)
        self.assertEqual((0, 0), (plain.code, outcome.code), outcome.stderr)
        lines = [(int(size), int(times)) for size, times in self.LINE.findall(outcome.stderr)]
        self.assertEqual(lines, [(int(size), int(times)) for size, times in self.LINE.findall(plain.stderr)])
        self.assertGreater(len(lines), 15)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual("complete", report.data["experiment"]["state"])
        # Each rank; a hundred messages of one byte come first, to guess how long one takes.
        messages = 3 * sum(times for _, times in lines) + 100
        sent = 3 * sum(size * times for size, times in lines) + 100
        main = [c for c in report.callpaths if c["path"] == ["main", "MPI_Send"]]
        self.assertEqual((2 * messages, 2 * sent), (sum(c["visits"] for c in main), sum(c["bytes_sent"] for c in main)))
        for column in ("messages", "bytes"):
            self.assertEqual(report.of_function("MPI_Send", f"{column}_sent"),
                             report.of_function("MPI_Recv", f"{column}_received"), column)

    def test_tcp(self) -> None:
        self.need("NPtcp")
        sizes = {}
        for run in (self.plain, self.measured):
            with socket.socket() as free:
                free.bind(("", 0))
                port = str(free.getsockname()[1])
            arguments = ["-P", port, "-u", "1024", "-n", "30", "-p", "0"]
            outcomes: dict[str, Outcome] = {}
            receiver = threading.Thread(target=lambda: outcomes.update(receiver=run(["NPtcp", *arguments])))
            receiver.start()
            # It tries again until the receiver listens.
            outcomes["sender"] = self.until_it_connects(run, ["NPtcp", "-h", "127.0.0.1", *arguments, "-o", "np.out"])
            receiver.join()
            self.assertEqual((0, 0), (outcomes["receiver"].code, outcomes["sender"].code))
            sizes[run.__name__] = self.LINE.findall(outcomes["sender"].stderr)
            if run == self.measured:
                for outcome in outcomes.values():
                    report = self.report(outcome)
                    self.assert_time_conserved(report)
                    self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertGreater(len(sizes["plain"]), 10)
        self.assertEqual(sizes["plain"], sizes["measured"])

    def until_it_connects(self, run, command: list[str]) -> Outcome:
        for _ in range(20):
            outcome = run(command)
            if outcome.code == 0:
                break
        return outcome


class Mpi4py(Debian):
    def setUp(self) -> None:
        super().setUp()
        found = subprocess.run([PYTHON, "-c", "import mpi4py"], capture_output=True)
        if found.returncode != 0:
            self.fail(f"python3-mpi4py is not installed: {found.stderr.decode()}")

    def assert_calls(self, report: Report, ranks: int, partners: bool, object_bytes: int) -> None:
        self.assert_time_conserved(report)
        self.assertEqual((ranks, "complete"), (report.data["experiment"]["ranks"], report.data["experiment"]["state"]))
        of = report.of_function
        messages = ranks * PYTHON_ROUNDS * partners
        for call in ("MPI_Sendrecv", "MPI_Irecv", "MPI_Send"):
            self.assertEqual(ranks * PYTHON_ROUNDS, of(call, "visits"), call)
        self.assertEqual(1000 * messages, of("MPI_Sendrecv", "bytes_sent"))
        self.assertEqual(1000 * messages, of("MPI_Sendrecv", "bytes_received"))
        self.assertEqual(500 * messages, of("MPI_Send", "bytes_sent"))
        self.assertEqual(500 * messages, of("MPI_Irecv", "bytes_received"))
        # Objects are sent as what pickle makes of them, and received after a probe.
        self.assertEqual(ranks * PYTHON_ROUNDS, of("MPI_Isend", "visits"))
        self.assertEqual(object_bytes * messages, of("MPI_Isend", "bytes_sent"))
        self.assertEqual(object_bytes * messages, of("MPI_Mrecv", "bytes_received"))
        self.assertEqual(ranks, of("MPI_Comm_split", "visits"))
        self.assertEqual(ranks, of("MPI_Barrier", "visits"))
        # Python's functions are frames of its interpreter; the path says at least which one of mpi4py made the call.
        sends = [c for c in report.callpaths if c["path"][-1] == "MPI_Sendrecv"]
        self.assertTrue(all(len(c["path"]) > 5 for c in sends), sends)
        self.assertTrue(any("_PyEval_EvalFrameDefault" in c["path"] for c in sends), sends)
        self.assertGreater(report.totals["samples"], 0)

    def test_under_a_launcher(self) -> None:
        plain, outcome = self.both(mpiexec("openmpi", 2, PYTHON, SCRIPT, PYTHON_ROUNDS))
        size = int(plain.stdout.split()[-1])
        self.assert_calls(self.report(outcome, "--fold", "none"), 2, True, size)

    def test_alone(self) -> None:
        plain, outcome = self.both([PYTHON, SCRIPT, PYTHON_ROUNDS])
        self.assert_calls(self.report(outcome, "--fold", "none"), 1, False, int(plain.stdout.split()[-1]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
