from pathlib import Path

import pytest

from tilegen.toolchain import Cache


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")
