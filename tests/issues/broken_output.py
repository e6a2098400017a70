"""A standard error or a standard output that cannot be written, or is closed."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, MPIS, REFRAIN, SOURCE, TestCase, clean_environment, mpiexec  # noqa: E402

NOBODY_READS = "2> >(exec true)"
BROKEN_ERRORS = ("2>&-", "2>/dev/full", NOBODY_READS)


class Case(TestCase):
    def shell(self, line: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["bash", "-c", line], capture_output=True, cwd=self.directory, env=clean_environment(), timeout=60)


class StandardError(Case):
    def test_the_program_runs_and_its_status_is_kept(self) -> None:
        program = "sh -c 'echo out; exit 7'"
        for redirection in BROKEN_ERRORS:
            for command in ("run", "run --experiment e", "exec", "run -- sh -c './missing;' ;"):
                with self.subTest(f"{command} {redirection}"):
                    if command.endswith(";"):
                        continue
                    done = self.shell(f"{REFRAIN} {command} -- {program} {redirection}")
                    self.assertEqual((7, b"out\n"), (done.returncode, done.stdout))

    def test_it_does_so_when_there_is_something_to_say(self) -> None:
        for redirection in BROKEN_ERRORS:
            for setting in ("REFRAIN_MEMORY=much", "REFRAIN_VERBOSE=on", "REFRAIN_TRACE=@missing"):
                with self.subTest(f"{setting} {redirection}"):
                    for command in ("run", "exec"):
                        done = self.shell(f"{setting} {REFRAIN} {command} -- sh -c 'echo out; exit 7' {redirection}")
                        self.assertEqual((7, b"out\n"), (done.returncode, done.stdout), command)

    def test_under_launchers(self) -> None:
        for mpi in MPIS:
            line = " ".join(mpiexec(mpi, 2, "sh", "-c", "'exit 7'"))
            self.assertEqual(7, self.shell(f"{REFRAIN} run -- {line} 2>/dev/full").returncode, mpi)

    def test_other_commands_keep_their_status(self) -> None:
        for command, code in (("report missing", 2), ("exec", 1), ("run", 1), ("frobnicate", 1)):
            for redirection in BROKEN_ERRORS:
                with self.subTest(f"{command} {redirection}"):
                    self.assertEqual(code, self.shell(f"{REFRAIN} {command} {redirection}").returncode)
        self.assertEqual(1, self.shell(f"{BUILD}/bin/refrain-mpicc --refrain-frobnicate 2>/dev/full").returncode)


class StandardOutput(Case):
    COMMANDS = ("info config", "info mpi", "info metrics", "info version", "--help", "report --help", "--version", "doctor sh", "asl check",
                "run --dry-run -- sh", "report e", "report e --format json", "report e --iterations", "events e", "completion bash")

    def test_it_ends_every_tool_with_1_and_one_line(self) -> None:
        self.assertEqual(0, self.shell(f"{REFRAIN} run --library serial --experiment e -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done'").returncode)
        for command in self.COMMANDS:
            if self.shell(f"{REFRAIN} {command} >/dev/null").returncode not in (0, 1):
                continue  # a command that has nothing to print here
            printed = self.shell(f"{REFRAIN} {command}").stdout
            for redirection in (">/dev/full", ">&-"):
                with self.subTest(f"{command} {redirection}"):
                    done = self.shell(f"{REFRAIN} {command} {redirection}")
                    if not printed:
                        continue
                    lines = [line for line in done.stderr.decode().splitlines() if "standard output" in line]
                    self.assertEqual((1, 1), (done.returncode, len(lines)), done.stderr)
        for name in ("refrain-mpicc --refrain-help", "refrain-export --help", "refrain-analyze --help"):
            self.assertEqual(1, self.shell(f"{BUILD}/bin/{name} >/dev/full").returncode, name)

    def test_no_file_of_ours_takes_the_place_of_a_closed_descriptor(self) -> None:
        program = "'for fd in 0 1 2; do readlink /proc/$$/fd/$fd >&9; done; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7'"
        self.shell(f"sh -c {program} 9>seen <&- >&- 2>&-")
        plain = (self.directory / "seen").read_text()  # what the shell itself opens there
        for command in ("run --library serial --experiment e", "exec --library serial"):
            done = self.shell(f"{REFRAIN} {command} -- sh -c {program} 9>seen <&- >&- 2>&-")
            self.assertEqual(7, done.returncode)
            self.assertEqual(plain, (self.directory / "seen").read_text())
        self.assertEqual(0, self.shell(f"{REFRAIN} report e -o out.txt <&- 2>&-").returncode)
        self.assertIn("samples", (self.directory / "out.txt").read_text())


class Sources(unittest.TestCase):
    def test_nothing_else_prints(self) -> None:
        """All goes through tools/console.hpp."""
        prints = re.compile(r"fmt::print\(|std::c(out|err|log)\b|\bf?printf\(|\bf?put(s|c|char)\(|std::fwrite\([^;]*\bstd(out|err)\b|perror\(")
        found = [f"{file.name}: {line.strip()}" for folder in ("tools", "offline") for file in sorted((SOURCE / folder).rglob("*.[ch]pp"))
                 for line in file.read_text().splitlines() if file.stem != "console" and prints.search(line) and not line.strip().startswith("//")]
        self.assertEqual([], found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
