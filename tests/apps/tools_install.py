"""`cmake --install`: the tree works after it was moved, and other build systems find it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unittest

from refrain_testing import BUILD, SOURCE
from tools_exec import ToolsTest
from tools_wrappers import needed

CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
add_executable(annotated annotated.c)
add_executable(measured measured.c)
"""


def documented_lines(tree):
    """What docs/building-in.md of the installed tree tells users of CMake to write."""
    page = (tree / "share/doc/refrain/docs/building-in.md").read_text()
    return re.search(r"```cmake\n(.*?)```", page, re.DOTALL)[1]


class Install(ToolsTest):
    @classmethod
    def setUpClass(cls):
        cls.first = BUILD / "tests" / "apps" / "installed"
        cls.tree = BUILD / "tests" / "apps" / "moved"
        for directory in (cls.first, cls.tree):
            shutil.rmtree(directory, ignore_errors=True)
        subprocess.run(["cmake", "--install", str(BUILD), "--prefix", str(cls.first)], check=True, capture_output=True)
        cls.first.rename(cls.tree)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.tree)

    def file_names(self, directory):
        return {path.name for path in (self.tree / directory).iterdir()}

    def test_the_tree_holds_what_users_look_for(self):
        self.assertLessEqual({"refrain", "refrain-mpicc", "refrain-mpicxx", "refrain-mpifort", "refrain-cc", "refrain-cxx",
                              "refrain-export", "refrain-analyze"}, self.file_names("bin"))
        self.assertLessEqual({f"librefrain-{mpi}.so" for mpi in ("openmpi", "mpich", "serial")}, self.file_names("lib"))
        self.assertLessEqual({f"librefrain-{mpi}-link.so" for mpi in ("openmpi", "mpich", "serial")}, self.file_names("lib/refrain"))
        self.assertTrue((self.tree / "include/refrain/refrain.h").exists())
        self.assertLessEqual({"refrain.1", "refrain-run.1", "refrain-exec.1", "refrain-report.1", "refrain-events.1", "refrain-analyze.1",
                              "refrain-export.1", "refrain-info.1", "refrain-doctor.1", "refrain-mpicc.1", "refrain-cc.1"}, self.file_names("share/man/man1"))
        self.assertIn("REFRAIN_SAMPLING_FREQUENCY", (self.tree / "share/man/man7/refrain-config.7").read_text())

    def test_no_directory_is_empty(self):
        self.assertEqual([], [path for path in self.tree.rglob("*") if path.is_dir() and not any(path.iterdir())])

    def test_links_of_the_documents_lead_somewhere(self):
        documents = list((self.tree / "share/doc/refrain").rglob("*.md"))
        self.assertLessEqual({"README.md", "tutorial.md", "building-in.md"}, {path.name for path in documents})
        dead = []
        for document in documents:
            for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
                if not link.startswith(("http:", "https:", "#")) and not (document.parent / link.split("#")[0]).exists():
                    dead.append(f"{document.relative_to(self.tree)}: {link}")
        self.assertEqual([], dead)

    def test_every_manual_page_that_a_page_names_is_there(self):
        pages = {path.stem for path in (self.tree / "share/man/man1").iterdir()} | {"refrain-config"}
        for path in (self.tree / "share/man").rglob("refrain*.[17]"):
            for name in re.findall(r"\.BR (refrain[\w\\-]*) \([17]\)", path.read_text()):
                self.assertIn(name.replace("\\", ""), pages, path)

    def test_bash_completes_the_installed_command(self):
        script = (self.tree / "share/bash-completion/completions/refrain").read_text()
        self.assertEqual(script, self.start(self.tree / "bin/refrain", "completion", "bash").stdout)
        done = self.start("bash", "--norc", "-c", f"source {self.tree}/share/bash-completion/completions/refrain; complete -p refrain")
        self.assertEqual((done.returncode, done.stdout), (0, "complete -F _refrain refrain\n"), done.stderr)

    def test_no_file_knows_where_it_was_installed(self):
        for path in self.tree.rglob("*"):
            if path.is_file() and not path.is_symlink():
                self.assertNotIn(str(self.first).encode(), path.read_bytes(), path)

    def test_the_moved_programs_find_each_other(self):
        build = self.start(self.tree / "bin/refrain", "info", "build").stdout
        for mpi in ("openmpi", "mpich", "serial"):
            self.assertIn(f"{self.tree}/lib/librefrain-{mpi}.so", build)
        dry = self.start(self.tree / "bin/refrain", "run", "--dry-run", "--", "mpirun.openmpi", "-n", "2", "./app").stdout
        self.assertIn(f"{self.tree}/bin/refrain exec", dry)
        done = self.start(self.tree / "bin/refrain-mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "-o", "hello")
        self.assertEqual(done.returncode, 0, done.stderr)
        run = self.start("mpirun.openmpi", "-n", "1", "./hello", "4", REFRAIN_ENABLE="off")
        self.assertEqual(run.returncode, 4, run.stderr)

    def test_cmake_finds_the_package(self):
        self.file("CMakeLists.txt", CONSUMER + documented_lines(self.tree).replace("Refrain::openmpi", "Refrain::serial"))
        self.file("annotated.c", "#include <refrain/refrain.h>\nint main(void) { return 0; }\n")
        self.file("measured.c", "int main(void) { return 0; }\n")
        for command in (["cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.tree}"], ["cmake", "--build", "b"]):
            done = self.start(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertFalse(any("refrain" in name for name in needed(self.directory / "b/annotated")))
        self.assertEqual(needed(self.directory / "b/measured")[0], "librefrain-serial.so")

    def test_pkg_config_finds_the_package(self):
        path = str(self.tree / "lib/pkgconfig")
        flags = self.start("pkg-config", "--cflags", "--libs", "refrain-openmpi", PKG_CONFIG_PATH=path)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        include = next(word[2:] for word in flags.stdout.split() if word.startswith("-I"))
        self.assertTrue(os.path.exists(f"{include}/refrain/refrain.h"))
        self.assertIn("refrain/librefrain-openmpi-link.so", flags.stdout)
        header_only = self.start("pkg-config", "--libs", "refrain", PKG_CONFIG_PATH=path).stdout
        self.assertEqual(header_only.strip(), "")

    def test_man_pages_are_well_formed(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        for page in sorted((self.tree / "share/man").rglob("*.[17]")):
            if page.read_text().startswith(".so "):
                continue
            done = self.start("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page, MANROFFSEQ="")
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)


if __name__ == "__main__":
    unittest.main()
