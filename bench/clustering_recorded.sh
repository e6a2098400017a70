#!/bin/bash
# Clusters sequences that it first records from the examples and LAMMPS; bench_clustering has the generated ones.
#   bench/clustering_recorded.sh [BUILD]
build=${1:-build}
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 "$(dirname "$0")/clustering/record.py" "$build" "$directory" &&
  "$build/bench/bench_clustering" --no-table --no-cost --recorded "$directory"
