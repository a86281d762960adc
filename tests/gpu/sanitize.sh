#!/bin/sh
# Run every spec's own tests under compute-sanitizer: memcheck, racecheck, initcheck, synccheck. Needs a GPU and the
# toolkit's compute-sanitizer; exits non-zero at the first tool that finds something.
set -eu
cd "$(dirname "$0")/../.."
for tool in memcheck racecheck initcheck synccheck; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
        "${PYTHON:-python3}" -m pytest -q -p no:cacheprovider --tilegen-on gpu --tilegen-shapes spec \
        -k "not gpu and not expect" specs
done
