#!/bin/bash
# Measures whole programs: see whole_program.py.
exec python3 "$(dirname "$0")/whole_program.py" "${1:-build}"
