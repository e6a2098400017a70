"""`refrain info`, `refrain doctor`, exit codes, and that the documents follow the tables."""

from __future__ import annotations

import json
import re
import unittest

from refrain_testing import REFRAIN, SOURCE
from tools_exec import ToolsTest


class Info(ToolsTest):
    def refrain(self, *arguments, **settings):
        return self.start(REFRAIN, *arguments, **settings)

    def test_the_values_in_force_are_shown_with_their_origin(self):
        done = self.refrain("info", "config", "--format", "json", REFRAIN_MEMORY="1024K", REFRAIN_VERBOSE="")
        rows = {row["variable"]: row for row in json.loads(done.stdout)}
        self.assertEqual((rows["REFRAIN_MEMORY"]["value"], rows["REFRAIN_MEMORY"]["from"]), ("1M", "environment"))
        self.assertEqual((rows["REFRAIN_VERBOSE"]["value"], rows["REFRAIN_VERBOSE"]["from"]), ("off", "default"))
        self.assertEqual(rows["REFRAIN_SAMPLING_FREQUENCY"]["default"], "100")
        text = self.refrain("info", "config", REFRAIN_MEMORY="1024K").stdout
        self.assertRegex(text, r"(?m)^REFRAIN_MEMORY +1M +32M +environment ")

    def test_a_bad_value_is_said_and_fails(self):
        bad = self.refrain("info", "config", REFRAIN_MEMORY="1K")
        self.assertEqual(bad.returncode, 1)
        self.assertIn("REFRAIN_MEMORY=1K is out of range", bad.stderr)
        self.assertEqual(self.refrain("info", "config", REFRAIN_MEMORY="2M").returncode, 0)

    def test_the_page_in_the_documents_is_the_tables(self):
        page = self.refrain("info", "config", "--format", "markdown").stdout
        self.assertEqual((SOURCE / "docs/configuration.md").read_text(), page)

    def test_every_package_is_explained_and_nothing_else(self):
        setup = (SOURCE / "scripts/lib/setup.sh").read_text()
        listed = set()
        for words in re.findall(r"^[A-Z]+_PACKAGES=\(([^)]*)\)", setup, re.MULTILINE):
            listed |= set(words.split())
        explained = set(re.findall(r"^\| `([^`]+)` \|", (SOURCE / "docs/dependencies.md").read_text(), re.MULTILINE))
        self.assertEqual(listed, explained)
        self.assertIn("libopenmpi-dev", listed)

    def test_exit_codes(self):
        self.assertEqual(self.refrain("--help").returncode, 0)
        self.assertEqual(self.refrain("--version").returncode, 0)
        self.assertEqual(self.refrain().returncode, 1)
        self.assertEqual(self.refrain("no-such-subcommand").returncode, 1)
        self.assertEqual(self.refrain("run", "--no-such-option", "--", "true").returncode, 1)
        self.assertEqual(self.refrain("report", "/no/such/experiment").returncode, 2)


class Doctor(ToolsTest):
    def doctor(self, program, **settings):
        return self.start(REFRAIN, "doctor", program, **settings)

    def test_an_ordinary_mpi_program_is_well(self):
        self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello", "-g")
        done = self.doctor("./hello")
        self.assertEqual(done.returncode, 0, done.stdout)
        for text in ("it uses openmpi", "debug information", "unwind tables"):
            self.assertRegex(done.stdout, f"(?m)^ok .*{text}")

    def test_what_is_missing_is_a_warning(self):
        self.compile("mpicc.mpich", SOURCE / "tests/apps/tools_hello.c", "hello", "-s", "-fno-asynchronous-unwind-tables")
        done = self.doctor("./hello")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("it uses mpich", done.stdout)
        self.assertRegex(done.stdout, "(?m)^warning .*stripped")

    def test_what_prevents_a_measurement_is_said_and_fails(self):
        static = self.compile("gcc", self.file("s.c", "int main(void){return 0;}"), "static", "-static")
        self.assertRegex(self.doctor(static).stdout, "(?m)^cannot .*statically")
        self.assertEqual(self.doctor(static).returncode, 1)
        self.assertEqual(self.doctor("./missing").returncode, 1)
        library = self.compile("gcc", self.file("l.c", "int l(void){return 0;}"), "libgone.so", "-shared", "-fPIC")
        program = self.compile("gcc", self.file("m.c", "int l(void);int main(void){return l();}"), "gone", "-L.", "-lgone", "-fPIC")
        self.assertEqual(self.doctor(program, LD_LIBRARY_PATH=str(self.directory)).returncode, 0)
        library.unlink()
        done = self.doctor(program)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"(?m)^cannot .*libgone\.so")

    def test_settings_are_examined_too(self):
        self.assertEqual(self.doctor("/bin/true").returncode, 0)
        self.assertEqual(self.doctor("/bin/true", REFRAIN_MEMORY="0").returncode, 1)
        self.assertEqual(self.doctor("/bin/true", REFRAIN_EXPERIMENT_DIRECTORY=str(self.directory)).returncode, 1)

    def test_another_tool_on_mpi_is_named(self):
        tool = self.compile("gcc", self.file("t.c", "int MPI_Send(void){return 0;}"), "libtool.so", "-shared", "-fPIC")
        program = self.compile("gcc", self.file("u.c", "int MPI_Send(void);int main(void){return MPI_Send();}"), "used", str(tool))
        self.assertRegex(self.doctor(program).stdout, "(?m)^warning .*libtool.so.* intercepts MPI calls")


if __name__ == "__main__":
    unittest.main()
