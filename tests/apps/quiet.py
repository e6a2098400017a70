"""Refrain communicates in MPI_Init and in MPI_Finalize, and not between them."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from refrain_testing import PROGRAMS, TestCase, mpirun

SOURCE = Path(__file__).resolve().parents[2]
MPIS = [mpi for mpi in ("openmpi", "mpich") if (PROGRAMS / f"quiet_{mpi}").exists()]
# Functions that Refrain calls and that only ask.
LOCAL = set("Query_thread Get_library_version Initialized Type_size_x Get_elements_x Test_cancelled Comm_size Comm_rank "
            "Comm_remote_size Comm_test_inter Comm_group Comm_remote_group Comm_set_errhandler Group_free "
            "Group_translate_ranks Topo_test Cartdim_get Cart_shift Graph_neighbors_count Dist_graph_neighbors_count "
            "Request_free Type_get_envelope Type_get_envelope_c".split())
# Functions that Refrain calls when a program that has no MPI_Init makes its first communicator from a session.
FIRST_SESSION = set("Session_init Session_finalize Session_get_pset_info Info_get Info_free".split())


class Quiet(TestCase):
    def test_nothing_is_exchanged_while_the_program_runs(self) -> None:
        for mpi in MPIS:
            for trace in ("sampled", "all"):
                with self.subTest(mpi=mpi, trace=trace):
                    command = mpirun(3, PROGRAMS / f"quiet_{mpi}", 3)
                    if mpi == "mpich":
                        command = ["mpiexec.mpich", *command[command.index("-n"):]]
                    outcome = self.measured(command, {"REFRAIN_TRACE": trace, "REFRAIN_TRACE_MEMORY": "64K", "REFRAIN_SNAPSHOT": "1"})
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    lines = [list(map(int, line.split())) for line in outcome.stdout.splitlines()]
                    self.assertEqual(3, len(lines))
                    for begin, between, end in lines:
                        self.assertEqual(0, between)
                        self.assertGreater(end, 0, "the counter counts")

    def test_the_counter_knows_all_functions_that_communicate(self) -> None:
        header = (SOURCE / "adapters" / "mpi" / "library.hpp").read_text()
        used = set(re.findall(r"\buse\((\w+)\)", header))
        counted = set(re.findall(r"^COUNTED\(MPI_(\w+)", (SOURCE / "tests" / "apps" / "quiet_counter.c").read_text(), re.MULTILINE))
        self.assertGreater(len(counted), 5)
        self.assertEqual(used, LOCAL | FIRST_SESSION | counted)


if __name__ == "__main__":
    unittest.main()
