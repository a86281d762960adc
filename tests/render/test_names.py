"""Names that generated code uses are reserved, so that no name of a spec can hide one."""

from __future__ import annotations

import re
from pathlib import Path

import tilegen.render
from tilegen.cuda.names import RESERVED, Names

TEMPLATES = Path(tilegen.render.__file__).parent.parent / "templates"


def test_every_helper_is_reserved() -> None:
    text = "".join((TEMPLATES / f"{n}.j2").read_text(encoding="utf-8") for n in ("helpers", "collectives"))
    defined = re.findall(r"^static __device__ __forceinline__ [\w<>]+ (\w+)\(", text, re.MULTILINE)
    defined += re.findall(r"^struct (\w+) \{", text, re.MULTILINE)
    assert len(defined) > 20
    assert set(defined) <= RESERVED


def test_a_reserved_name_is_changed_and_others_are_not() -> None:
    names = Names()
    assert names.user("a", "inside") == "inside_"
    assert names.user("b", "f32x4") == "f32x4_"
    assert names.user("c", "width") == "width"
