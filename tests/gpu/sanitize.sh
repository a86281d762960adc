#!/bin/sh
# Launch every kernel of specs/ under compute-sanitizer, at ragged and even shapes, with misaligned pointers and free
# strides (the cases of benchmarks/counters_cases.py), on arrays without a byte to spare. Needs a GPU and the toolkit's
# compute-sanitizer; exits non-zero if a tool finds something.
#
#     sh tests/gpu/sanitize.sh [WORD]        only cases whose name contains WORD
#     TOOLS="memcheck racecheck" PYTHON=python3.12 sh tests/gpu/sanitize.sh
set -eu
cd "$(dirname "$0")/../.."
status=0
for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 \
        "${PYTHON:-python3}" benchmarks/counters.py --launch /dev/null --only "${1:-}" || status=1
done
exit $status
