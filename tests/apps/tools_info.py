"""`refrain info`, `refrain doctor`, exit codes, and that the documents follow the tables."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from refrain_testing import BUILD, REFRAIN, SOURCE
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
        for words in re.findall(r"\b[A-Z]+_PACKAGES\+?=\(([^)]*)\)", setup):
            listed |= {word for word in words.split() if "$" not in word}  # of other lists
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


class MpiFunctions(ToolsTest):
    """`refrain info mpi` against nm, which knows nothing of its tables."""

    LIBRARIES = {
        "openmpi": ("libmpi.so.40", ["libmpi_mpifh.so.40", "libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40"]),
        "mpich": ("libmpich.so.12", ["libmpichfort.so.12"]),
    }

    def exported(self, *libraries: str) -> set[str]:
        """Functions that shared libraries define."""
        files = []
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
        for library in libraries:
            found = re.search(rf"^\s+{re.escape(library)} .*=> (\S+)$", known, re.MULTILINE)
            files.append(found[1] if found else library)
        lines = subprocess.run(["nm", "-D", "--defined-only", *files], capture_output=True, text=True, check=True).stdout
        return {name.split("@")[0] for kind, name in re.findall(r"^[0-9a-f]+ (\w) (\S+)$", lines, re.MULTILINE) if kind in "TWi"}

    def coverage(self, mpi):
        done = self.start(REFRAIN, "info", "mpi", "--mpi", mpi, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (found,) = json.loads(done.stdout)["mpis"]
        return found

    def each_installed_mpi(self):
        for mpi, (c_library, fortran_libraries) in self.LIBRARIES.items():
            if shutil.which(f"mpicc.{mpi}"):
                own = self.exported(str(BUILD / "lib" / f"librefrain-{mpi}.so"))
                yield self.coverage(mpi), own, c_library, fortran_libraries

    def test_the_column_of_c_is_what_nm_sees(self):
        for found, own, library, _ in self.each_installed_mpi():
            exported = self.exported(library)
            listed = {row["function"]: row["c"] for row in found["functions"] if row["c"] is not None}
            self.assertGreater(len(listed), 400)
            self.assertEqual({name: name in own for name in listed}, listed)
            self.assertLessEqual(set(listed), exported)
            header = subprocess.run([f"mpicc.{found['mpi']}", "-E", "-include", "mpi.h", "-x", "c", "/dev/null"],
                                    capture_output=True, text=True, check=True).stdout
            declared = set(re.findall(r"\b(MPIX?_[A-Z]\w*) *\(", header))
            self.assertLessEqual(exported & declared, set(listed))

    def test_the_columns_of_fortran_are_what_nm_sees(self):
        for found, own, _, libraries in self.each_installed_mpi():
            wanted = {"fortran": {}, "fortran_2008": {}}
            for symbol in self.exported(*libraries):
                plain = re.fullmatch(r"(mpix?_[a-z0-9_]+?)_{1,2}", symbol)  # as compilers make them unless told otherwise
                if not plain or "sizeof" in symbol:
                    continue
                name = plain[1].removesuffix("_cptr")
                modern = re.fullmatch(r"(mpix?_\w+?)_f08(?:ts)?(_large)?", name)
                column = wanted["fortran_2008" if modern else "fortran"]
                function = modern[1] + ("_c" if modern[2] else "") if modern else name
                column[function] = column.get(function, True) and symbol in own
            for key, column in wanted.items():
                listed = {row["function"].lower(): row[key] for row in found["functions"]
                          if row[key] is not None and row["function"] != "MPI_Sizeof"}
                self.assertGreater(len(listed), 300)
                self.assertEqual(column, listed)

    def test_what_moves_data_is_wrapped_without_exception_and_nearly_all_else(self):
        for found, *_ in self.each_installed_mpi():
            for key in ("c", "fortran", "fortran_2008"):
                counted = [row for row in found["functions"] if row["counts"] and row[key] is not None]
                essential = [row for row in counted if row["essential"]]
                self.assertEqual([], [row["function"] for row in essential if not row[key]])
                totals = found["totals"][key]
                self.assertEqual((totals["all"]["wrapped"], totals["all"]["of"]), (sum(row[key] for row in counted), len(counted)))
                self.assertEqual(totals["essential"]["of"], len(essential))
                self.assertGreater(len(essential), 200)
                self.assertGreaterEqual(totals["all"]["percent"], 98)

    def test_whatever_is_not_wrapped_has_a_reason(self):
        for found, *_ in self.each_installed_mpi():
            for row in found["functions"]:
                wrapped = [row[key] for key in ("c", "fortran", "fortran_2008") if row[key] is not None]
                self.assertTrue(all(wrapped) or row["reason"], row)
                self.assertNotEqual(row["class"], "unknown", row)

    def test_the_text_says_the_same(self):
        text = self.start(REFRAIN, "info", "mpi").stdout
        for mpi in self.LIBRARIES:
            if shutil.which(f"mpicc.{mpi}"):
                self.assertRegex(text, rf"(?m)^{mpi} +class")
        self.assertRegex(text, r"(?m)^MPI_Send +send +yes +yes +yes$")
        self.assertRegex(text, r"(?m)^MPI_Wtime +no .*reads the clock")
        self.assertRegex(text, r"(?m)^C +\d+ of +\d+ +100.00 %  communicate")
        self.assertEqual(self.start(REFRAIN, "info", "mpi", "--mpi", "other").returncode, 1)


class Doctor(ToolsTest):
    def doctor(self, program, **settings):
        return self.start(REFRAIN, "doctor", program, **settings)

    def test_an_ordinary_mpi_program_is_well(self):
        self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello", "-g")
        done = self.doctor("./hello")
        self.assertEqual(done.returncode, 0, done.stdout)
        for text in ("it uses openmpi", "debug information", "unwind tables"):
            self.assertRegex(done.stdout, f"(?m)^ok .*{text}")

    def test_the_clock_is_named(self):
        source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text().strip()
        self.assertRegex(self.doctor("true").stdout, rf"(?m)^(ok|warning) .*the time stamp counter.*\b{source}\)")

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

    def test_a_fortran_program_is_well(self):
        for mpi in ("openmpi", "mpich"):
            for interface in ("MPIF_H", "USE_MPI", "USE_MPI_F08"):
                program = self.compile(f"mpifort.{mpi}", SOURCE / "tests/apps/link_work.F90", "fortran", f"-D{interface}",
                                       "-fallow-argument-mismatch", self.file("main.f90", "call work()\nend\n"))
                done = self.doctor(program)
                self.assertEqual((done.returncode, "intercept" in done.stdout), (0, False), f"{mpi} {interface}: {done.stdout}")

    def test_a_programs_own_names_that_look_like_mpis_are_no_tool(self):
        source = self.file("own.c", "int mpi_send_[4] = {1}, MPI_Recv = 2;\nvoid mpi_halo_(void) {}\nvoid MPI_Helper(void) {}\n"
                                    "int main(void) { return 0; }")
        self.assertNotIn("intercept", self.doctor(self.compile("gcc", source, "own", "-rdynamic")).stdout)
        source = self.file("tool.c", "void mpi_send_(void) {}\nint main(void) { return 0; }")
        self.assertIn("itself intercepts MPI calls (mpi_send_)", self.doctor(self.compile("gcc", source, "tool", "-rdynamic")).stdout)

    def test_another_tool_on_mpi_is_named(self):
        tool = self.compile("gcc", self.file("t.c", "int MPI_Send(void){return 0;}"), "libtool.so", "-shared", "-fPIC")
        program = self.compile("gcc", self.file("u.c", "int MPI_Send(void);int main(void){return MPI_Send();}"), "used", str(tool))
        self.assertRegex(self.doctor(program).stdout, "(?m)^warning .*libtool.so.* intercepts MPI calls")


if __name__ == "__main__":
    unittest.main()
