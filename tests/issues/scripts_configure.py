"""A tree that was built with one MPI is configured again, and built for both, when the other one has been installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("REFRAIN_SOURCE", Path(__file__).resolve().parents[2]))


class ScriptsConfigure(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="refrain-configure-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.tree = self.directory / "refrain"
        shutil.copytree(SOURCE, self.tree, ignore=shutil.ignore_patterns("build", "build-*", ".git", "docs", "bench"))

    def commands(self, without: str = "/") -> str:
        """A directory with all commands, but for those with this in their name, for PATH."""
        place = self.directory / f"commands-{len(list(self.directory.iterdir()))}"
        place.mkdir()
        for directory in map(Path, os.environ["PATH"].split(os.pathsep)):
            for command in sorted(directory.iterdir()) if directory.is_dir() else []:
                link = place / command.name
                if without not in command.name and not link.is_symlink():
                    link.symlink_to(command)
        return str(place)

    def configure(self, path: str, *options: str) -> str:
        """What cmake said; empty: it was not run."""
        given = " ".join(f"'{option}'" for option in options)
        script = f". '{self.tree}/scripts/lib/setup.sh'; configure_tree release {given}; configure_part release examples {given}"
        done = subprocess.run(["bash", "-c", script, f"{self.tree}/scripts/build"], env={**os.environ, "PATH": path},
                              capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stderr

    def coverage(self) -> bytes:
        """The table of the MPIs' functions, compiled."""
        subprocess.run(["cmake", "--build", self.tree / "build", "--target", "refrain_mpi_coverage"], stdout=subprocess.DEVNULL,
                       check=True)
        (compiled,) = self.tree.glob("build/adapters/mpi/**/coverage.cpp.o")
        return compiled.read_bytes()

    def test_an_mpi_that_comes_later_is_found(self) -> None:
        # Without this CMake looks into the system's directories, whatever the PATH.
        only_path = f"-DCMAKE_IGNORE_PATH={os.environ['PATH'].replace(os.pathsep, ';')}"
        self.assertEqual(2, self.configure(self.commands(without="mpich"), only_path).count("-- MPI: openmpi\n"))
        self.assertNotIn(b"mpich", self.coverage())
        everything = self.commands()
        self.assertEqual(2, self.configure(everything).count("-- MPI: openmpi;mpich\n"))
        self.assertIn(b"mpich", self.coverage())
        self.assertEqual("", self.configure(everything))


if __name__ == "__main__":
    unittest.main()
