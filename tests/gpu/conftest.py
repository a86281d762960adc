"""The GPU lane. Not collected without `--tilegen-on gpu`; in it a skip is a failure.

    pytest -n 8 specs --tilegen-on gpu -k "not gpu and not bandwidth"      every spec, schedule, type and shape
    pytest specs tests/gpu --tilegen-on gpu -k "gpu and not test_specs and not bandwidth"          the large shapes
    pytest specs --tilegen-on gpu -k bandwidth                              times, alone on the machine
    pytest tests/api tests/run --tilegen-on gpu                         calls
    sh tests/gpu/sanitize.sh                                                compute-sanitizer

`pytest tests/gpu --tilegen-on gpu` does the first two in one process. Large shapes of pure movement (all of them are)
are made and compared on the device; any other would take some 60 bytes of host memory per element in each worker. The
first line took 55 s beside an H200 with `-n 15`, 2,404 items; the second takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--tilegen-on", default=None) == "gpu" or collection_path.name == "conftest.py":
        return None
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in the GPU lane: {report.longrepr}"
