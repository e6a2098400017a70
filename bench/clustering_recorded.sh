#!/bin/bash
# Records sequences of the examples and of LAMMPS and clusters them; bench_clustering itself has the generated ones.
#   bench/clustering_recorded.sh [BUILD]
build=${1:-build}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 "$(dirname "$0")/clustering/record.py" "$build" "$directory" &&
  "$build/bench/bench_clustering" --no-table --no-cost --recorded "$directory"
