"""Names: the user's first, nothing that C, CUDA or the library has, none twice where both are visible."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilegen.cuda.library
from tilegen.cuda.library import entries, entry_names, in_order
from tilegen.cuda.names import identifier, names_of, names_of_variables, reserved
from tilegen.cuda.tree import (
    INDEX,
    Block,
    Comment,
    Declare,
    For,
    Kernel,
    LaunchBounds,
    Parameter,
    Part,
    Scope,
    Variable,
    number,
)

DEVICE = Path(tilegen.cuda.library.__file__).parents[1] / "templates" / "device"


def test_every_function_of_the_library_is_reserved() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DEVICE.glob("*.cuh"))
    defined = re.findall(r"^static __device__ __forceinline__ [\w<>]+ (\w+)\(", text, re.MULTILINE)
    defined += re.findall(r"^struct (\w+) \{", text, re.MULTILINE)
    assert len(defined) > 40
    assert set(defined) <= reserved()


def test_the_library_knows_what_it_needs() -> None:
    for entry in entries().values():
        assert {*entry.needs, *entry.sees} <= set(entries()), entry.name
        order = [e.name for e in in_order([entry.name])]
        assert order[-1] == entry.name and set(entry.needs) <= set(order[:-1])
    assert {e.name for e in entries().values()} <= entry_names()


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("width", "width"),
        ("inside", "inside_"),
        ("int", "int_"),
        ("M_PI", "M_PI_"),
        ("size_t", "size_t_"),
        ("cudaSuccess", "n_cudaSuccess"),
        ("__x", "n_x"),
        ("_X", "n_X"),
        ("a__b", "n_a_b"),
        ("_x", "n_x"),
    ],
)
def test_identifiers(wanted: str, name: str) -> None:
    assert identifier(wanted) == name


def variable(wanted: str, user: bool = False) -> Variable:
    return Variable(wanted, INDEX, user=user)


def kernel(parameters: list[Variable], phases: Block) -> Kernel:
    found = tuple(Parameter("size", v.wanted, v) for v in parameters)
    return Kernel("k", (), LaunchBounds(32), found, (), (), (), (), phases)


def test_a_name_of_the_user_is_kept_and_others_give_way() -> None:
    ours, theirs = variable("i"), variable("i", user=True)
    names = names_of_variables([ours, theirs])
    assert names == {theirs: "i", ours: "i1"}


def test_blocks_that_do_not_see_each_other_share_names() -> None:
    a, b, outer, loop = variable("x"), variable("x"), variable("x"), variable("s")
    separate: Block = (Scope((Declare(a),)), For(loop, number(0), number(2), (Declare(b),)))
    names = names_of(kernel([], separate))
    assert names[a] == names[b] == "x" and names[loop] == "s"
    names = names_of(kernel([], (Declare(outer), *separate)))
    assert names[outer] == "x" and names[a] == names[b] == "x1"
    names = names_of(kernel([], (*separate, Declare(outer))))
    assert names[outer] == names[a] == "x"


def test_what_a_part_declares_is_seen_by_the_next() -> None:
    a, b = variable("row"), variable("row")
    parts = tuple(Part((Comment(("why",)),), (Declare(v),)) for v in (a, b))
    names = names_of(kernel([], parts))
    assert (names[a], names[b]) == ("row", "row1")


def test_a_variable_declared_twice_meets_what_either_block_sees() -> None:
    shared, one, two = variable("v"), variable("v1"), variable("v")
    blocks: Block = (Scope((Declare(shared), Declare(one))), Scope((Declare(two), Declare(shared))))
    names = names_of(kernel([], blocks))
    assert names[shared] == "v" and names[one] == "v1" and names[two] == "v1"
