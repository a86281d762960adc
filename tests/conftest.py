"""What all tests share: options, and which files are tests."""

from __future__ import annotations

import pytest

# `.tile` files under tests/ are material (rejected specs, examples); those of specs/ are tests.
collect_ignore_glob = ["*.tile"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden files of tests/golden from what is generated now; review them as code",
    )
