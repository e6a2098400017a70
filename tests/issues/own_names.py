"""Functions of the C library that a program has replaced are not the ones that Refrain calls."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, TestCase  # noqa: E402

PROGRAM = BUILD / "tests" / "issues" / "own_names"

# What the runtime calls by a name that a program may define, and why that does no harm.
ALLOWED = {
    "the C library's own names, which no program defines": """
        __clone __cxa_at_quick_exit __cxa_finalize __environ __errno_location __gmon_start__ __libc_current_sigrtmax
        __libc_current_sigrtmin __libc_stack_end _r_debug getauxval __register_atfork __sigaction __stack_chk_fail _dl_find_object
        _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable""",
    "the loader's: a replacement passes the call on": "dl_iterate_phdr dladdr dladdr1 dlclose dlerror dlopen",
    "POSIX reserves pthread_*: who replaces one passes it on; none is called in a handler of ours": """
        pthread_attr_destroy pthread_attr_getstack pthread_getattr_np pthread_key_create pthread_mutex_lock pthread_mutex_trylock
        pthread_mutex_unlock pthread_self pthread_setcancelstate pthread_setspecific""",
    "what the C library puts on a new stack is looked at": "getcontext makecontext",
    "ISO C reserves them; called in ordinary context, and for messages": "strtol vsnprintf",
}


class OwnNames(TestCase):
    def test_a_program_that_defines_them_all(self) -> None:
        plain = self.plain([PROGRAM], timeout=20)
        self.assertEqual((7, "done\n"), (plain.code, plain.stderr))
        for env in ({}, {"REFRAIN_SNAPSHOT": "1"}, {"REFRAIN_METRICS": "ru_utime"}, {"REFRAIN_UNWINDER": "incremental"}):
            with self.subTest(env):
                outcome = self.measured([PROGRAM], env, timeout=20)
                self.assertEqual((7, b""), (outcome.code, outcome.stdout), outcome.stderr)
                self.assertIn("done\n", outcome.stderr)
                report = self.report(outcome)
                self.assertEqual("complete", report.data["experiment"]["state"])
                self.assertGreater(report.of_function("work", "samples"), 5)

    def test_the_runtime_calls_nothing_else(self) -> None:
        allowed = {name for names in ALLOWED.values() for name in names.split()}
        libraries = sorted(BUILD.glob("lib/librefrain-*.so"))
        self.assertTrue(libraries)
        for library in libraries:
            lines = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout.splitlines()
            # offset, info, type, value of the symbol, its name
            names = {fields[4].split("@")[0] for fields in map(str.split, lines) if len(fields) > 4 and fields[2].startswith("R_")}
            own = {name for name in names if name.lower().startswith(("mpi_", "pmpi_", "mpix_", "pmpix_", "ompi_", "pompi_"))}
            self.assertEqual(set(), names - own - allowed, library.name)
            self.assertGreater(len(names & allowed), 20, "the relocations were not read")

    def test_bash(self) -> None:
        """It exports an `unsetenv` that leaves the environment alone before its variables are set up."""
        script = self.directory / "script.sh"
        script.write_text("#!/bin/bash\nfor i in 1 2 3; do echo $i; done\nexit 3\n")
        script.chmod(0o755)
        for command in (["bash", "-c", "echo 1; echo 2; exit 3"], [script]):
            plain, outcome = self.plain(command, timeout=20), self.measured(command, timeout=20)
            self.assertEqual(3, plain.code)
            self.assert_same_result(plain, outcome)


if __name__ == "__main__":
    unittest.main(verbosity=2)
