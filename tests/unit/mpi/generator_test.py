#!/usr/bin/env python3
"""The generator of MPI wrappers accepts the table and names what does not fit.

    generator_test.py mpi.i
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ADAPTER = Path(__file__).resolve().parents[3] / "adapters" / "mpi" / "calls"
HEADER = Path(sys.argv.pop(1))


class Generator(unittest.TestCase):
    def generate(self, table: str, header: str) -> tuple[int, str, dict[str, str]]:
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            (directory / "table").write_text(table)
            (directory / "mpi.i").write_text(header)
            done = subprocess.run(
                [sys.executable, "-B", ADAPTER / "generate.py", "--table", directory / "table", "--mpi", "some",
                 "--preprocessed", directory / "mpi.i", "--output", directory / "out"],
                capture_output=True, text=True)
            files = {file.name: file.read_text() for file in (directory / "out").glob("*")}
            return done.returncode, done.stderr, files

    def setUp(self) -> None:
        self.table = (ADAPTER / "functions.table").read_text()
        self.header = HEADER.read_text()

    def refuses(self, table: str, header: str, *words: str) -> None:
        code, message, files = self.generate(table, header)
        self.assertEqual(code, 1)
        self.assertEqual(files, {})
        self.assertEqual(message.count("\n"), 1, message)
        for word in words:
            self.assertIn(word, message)

    def without_row(self, name: str) -> str:
        kept = [line for line in self.table.splitlines() if line.split()[:1] != [name]]
        self.assertLess(len(kept), len(self.table.splitlines()))
        return "\n".join(kept)

    def changed_row(self, name: str, old: str, new: str) -> str:
        lines = [line.replace(old, new) if line.split()[:1] == [name] else line for line in self.table.splitlines()]
        self.assertNotEqual(lines, self.table.splitlines())
        return "\n".join(lines)

    def test_every_declared_function_is_wrapped_or_has_a_reason(self) -> None:
        code, message, files = self.generate(self.table, self.header)
        self.assertEqual((code, message), (0, ""))
        rows = [line for line in files["coverage.inc"].splitlines() if line.startswith("{")]
        self.assertGreater(len(rows), 400)
        wrappers = "".join(text for name, text in files.items() if name.startswith("wrappers"))
        profiling = "".join(text for name, text in files.items() if name.startswith("profiling"))
        by_hand = {"MPI_Pcontrol"}
        for row in rows:
            _, function, operation, reason = row[2:-3].split('", "', 3)
            wrapped = f" {function}(" in wrappers or function in by_hand
            self.assertEqual(wrapped, operation != "unwrapped", function)
            self.assertEqual(wrapped, reason == "", function)
            # Fortran libraries call functions by the other name.
            self.assertEqual(f" P{function}(" in profiling, wrapped and function not in by_hand, function)

    def test_function_without_row_is_named(self) -> None:
        self.refuses(self.without_row("MPI_Barrier"), self.header, "MPI_Barrier", "without a row")
        self.refuses(self.table, self.header + "\nint MPI_Quantum_send(const void *buf, MPI_Comm comm);\n", "MPI_Quantum_send")

    def test_row_without_function_is_no_error(self) -> None:
        table = self.table + "\nMPI_Unborn local - - flag>logical\n"
        code, _, files = self.generate(table, self.header)
        self.assertEqual(code, 0)
        self.assertNotIn("MPI_Unborn", files["next.hpp"])
        self.assertIn("MPI_Unborn", files["regions.hpp"])  # ids are the same for every MPI

    def test_other_number_of_parameters_is_named(self) -> None:
        self.refuses(self.changed_row("MPI_Barrier", "comm:comm", "comm:comm tag:tag"), self.header, "MPI_Barrier",
                     "1 parameters", "2 in")

    def test_kind_that_the_type_cannot_have_is_named(self) -> None:
        self.refuses(self.changed_row("MPI_Probe", "comm:comm", "comm:group"), self.header, "MPI_Probe", "comm", "group")
        self.refuses(self.changed_row("MPI_Comm_size", "size>int", "size>rank[size]").replace("size>rank[size]", "size:comm"),
                     self.header, "MPI_Comm_size")
        self.refuses(self.changed_row("MPI_Probe", "tag:tag", "tag>tag"), self.header, "MPI_Probe", "tag")

    def test_unreadable_rows_are_named(self) -> None:
        self.refuses(self.table + "\nMPI_Odd local - - flag=logical\n", self.header, "MPI_Odd", "flag=logical")
        self.refuses(self.table + "\nMPI_Odd send send Sent buf:buffer\n", self.header, "MPI_Odd", "Sent needs")
        self.refuses(self.table + "\nMPI_Odd unwrapped - laziness\n", self.header, "MPI_Odd", "'laziness' is not a reason")
        self.refuses(self.table + "\nMPI_Barrier barrier barrier - comm:comm\n", self.header, "MPI_Barrier has two rows")

    def test_the_table_of_the_offline_half_needs_no_header(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run([sys.executable, "-B", ADAPTER / "generate.py", "--table", ADAPTER / "functions.table", "--output", scratch],
                           check=True)
            (file,) = Path(scratch).iterdir()
            text = file.read_text()
        self.assertIn('MPI_FUNCTION("MPI_Iallreduce_c", collective_nxn, NonBlocking, nobody, "Allreduce")\n', text)
        self.assertIn('MPI_FUNCTION("MPI_Send_init", request, Persistent, nobody, "SendPrepared")\n', text)
        self.assertIn('MPI_REASON("clock", "', text)

    def test_foreign_header_is_refused(self) -> None:
        self.refuses(self.table, "int puts(const char *s);\n", "MPI_Init")


if __name__ == "__main__":
    unittest.main()
