#!/bin/bash
# Exports an experiment with some millions of events and compares the time with that of a bare libotf2 loop: see
# otf2_write.cpp.
set -eu
build=$(realpath "${1:-build}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
REFRAIN_TRACE=all "$build/bin/refrain" run --experiment "$scratch/experiment" -- \
  mpirun.openmpi -n 2 "$build/bench/requests" 8 40000 >/dev/null
for threads in 1 2; do
  echo "export by $threads thread(s):"
  REFRAIN_THREADS=$threads "$build/bench/otf2_write" "$scratch/experiment" "$scratch"
done
