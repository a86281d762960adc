"""Whole launches as an H200 counted them (`benchmarks/counters.py --profile`), against the simulator."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def counters() -> Any:
    spec = importlib.util.spec_from_file_location("counters", ROOT / "benchmarks" / "counters.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    sys.modules["counters"] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.pop(0)
        del sys.modules["counters"]


def test_every_launch(counters: Any) -> None:
    document = counters.read(ROOT / "tests" / "data" / "counters_h200.json.xz")
    rows = counters.compare(document)
    assert len(rows) > 850
    wrong = [r for r in rows if not set(r.differs) <= explained(r.note)]
    assert not wrong, "\n".join(f"{r.name}: {r.predicted}, hardware {r.measured}" for r in wrong)
    assert sum(not r.differs for r in rows) > 850


def explained(note: str) -> set[int]:
    """The columns that a note speaks of: loads of what other blocks publish, shared accesses that ptxas joined."""
    return ({0, 1} if "blocks look" in note else set()) | ({4, 5} if "executed" in note else set())


def test_a_wrong_count_is_seen(counters: Any, tmp_path: Path) -> None:
    document = counters.read(ROOT / "tests" / "data" / "counters_h200.json.xz")
    document["cases"] = [c for c in document["cases"] if c["name"] == "copy: copy[quads-N=4096]"]
    hardware = document["cases"][0]["hardware"]
    hardware["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] += 1
    del hardware["launch__registers_per_thread"]
    rows = counters.compare(document)
    assert rows[0].differs == [1, 6]
    assert "**512 → 513**" in counters.table(document, rows)
    kept = tmp_path / "kept.json"
    counters.save(kept, document)
    assert counters.read(kept) == document


def test_the_raw_page_is_read(counters: Any) -> None:
    text = '==PROF== Connected\n"ID","Kernel Name","a.sum"\n"","","sector"\n"0","k","1,024"\n'
    assert counters.read_csv(text) == [{"ID": "0", "Kernel Name": "k", "a.sum": "1,024"}]
