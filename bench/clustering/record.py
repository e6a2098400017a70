#!/usr/bin/env python3
"""Records iteration sequences of real programs for bench_clustering. Usage: record.py BUILD DIRECTORY [NAME...]

Runs the examples and, if it is installed, LAMMPS with as many clusters as there are iterations, so that the experiment contains
every iteration in full. Leaves an experiment per program in DIRECTORY, which `bench_clustering --recorded DIRECTORY` reads.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MELT = """
units           lj
atom_style      atomic
lattice         fcc 0.8442
region          box block 0 16 0 16 0 16
create_box      1 box
create_atoms    1 box
mass            1 1.0
velocity        all create 3.0 87287
pair_style      lj/cut 2.5
pair_coeff      1 1 1.0 1.0 2.5
neighbor        0.3 bin
fix             1 all nve
thermo          50
run             400
"""

# Ranks, command, environment. The sizes give hundreds of iterations of a few to some ten milliseconds.
PROGRAMS: dict[str, tuple[int, list[str], dict[str, str]]] = {
    "stencil": (4, ["examples/stencil", "--size", "120", "--steps", "600"], {}),
    "particles": (4, ["examples/particles", "--particles", "3000", "--steps", "200"], {}),
    "drift": (4, ["examples/drift", "--steps", "800"], {}),
    "wave": (4, ["examples/wave"], {}),
    "melt": (2, ["lmp", "-in", "in.melt", "-log", "none"], {"REFRAIN_ITERATION_AT": "MPI_Send@reverse_comm/2"}),
}


def record(build: Path, name: str, directory: Path) -> None:
    ranks, command, extra = PROGRAMS[name]
    program = command[0]
    if "/" in program:
        command = [str(build / program), *command[1:]]
    elif not shutil.which(program):
        print(f"{name}: {program} is not installed", file=sys.stderr)
        return
    env = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1", "REFRAIN_CLUSTERS": "4096", **extra}
    with tempfile.TemporaryDirectory() as work:
        (Path(work) / "in.melt").write_text(MELT)
        launch = [str(build / "bin/refrain"), "run", "--experiment", str(directory / name), "--", "mpirun.openmpi", "-n", str(ranks)]
        done = subprocess.run([*launch, *command], env=env, cwd=work, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: exit {done.returncode}: {done.stderr[-500:]}")


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, directory = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or PROGRAMS:
        shutil.rmtree(directory / name, ignore_errors=True)
        record(build, name, directory)


if __name__ == "__main__":
    main()
