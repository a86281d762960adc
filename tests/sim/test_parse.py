"""The PTX reader: scopes, locations, variables, and the order of blocks."""

from __future__ import annotations

import pytest

from tilegen.sim import SimulationError
from tilegen.sim.parse import parse
from tilegen.sim.program import build
from tilegen.sim.ptx import Instruction, Register

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def instructions(body: str) -> list[Instruction]:
    function = parse(f"{HEAD}.visible .entry k()\n{{\n{body}\n}}").functions["k"]
    return [one for one in function.body if isinstance(one, Instruction)]


def test_registers_of_inner_scopes_are_their_own() -> None:
    found = instructions("""
        .reg .b32 %r<3>;
        mov.u32 %r1, 1;
        { .reg .b32 %r1; mov.u32 %r1, 2; { .reg .b32 %r1; mov.u32 %r1, 3; } }
        mov.u32 %r1, 4;""")
    names = [one.operands[0].name for one in found if isinstance(one.operands[0], Register)]
    assert names[0] == names[3] == "%r1"
    assert len(set(names)) == 3


def test_locations_name_the_outermost_line_of_the_kernel() -> None:
    found = instructions("""
        .loc 1 10 0
        .reg .b32 %r<2>;
        mov.u32 %r1, 1;
        .loc 2 500 1, function_name $x, inlined_at 1 12 3
        mov.u32 %r1, 2;
        .loc 2 700 1, function_name $y, inlined_at 2 500 1
        mov.u32 %r1, 3;
        .loc 1 0 3
        mov.u32 %r1, 4;
        .loc 1 13 3
        mov.u32 %r1, 5;""")
    assert [one.line for one in found] == [10, 12, 12, 12, 13]


def test_comments_keep_line_numbers() -> None:
    found = instructions("/* a\nb */ // c\n.reg .b32 %r<2>;\nmov.u32 %r1, 1; // d")
    assert found[0].ptx_line == 9


def test_variables_with_data() -> None:
    module = parse(
        HEAD
        + """.const .align 4 .f32 c[2] = {0f3F800000, 0f40000000};
        .global .align 2 .b8 g[6] = {1, 2, 255};
        .extern .shared .align 16 .b8 s[];"""
    )
    const, globe, shared = module.variables
    assert const.data == b"\0\0\x80?\0\0\0@"
    assert globe.data == b"\1\2\xff\0\0\0"
    assert shared.external and shared.size == 0


def test_blocks_come_after_all_that_lead_to_them_and_loops_stay_whole() -> None:
    module = parse(
        HEAD
        + """.visible .entry k() {
        .reg .pred %p<3>; .reg .b32 %r<4>;
        @%p1 bra $RARE;
        $JOIN: mov.u32 %r1, 1;
        $LOOP: add.s32 %r2, %r2, 1;
        @%p2 bra $LOOP;
        mov.u32 %r1, 2;
        ret;
        $RARE: mov.u32 %r1, 3;
        bra.uni $JOIN;
        }"""
    )
    order = [one.text for one in build(module, "k").instructions]
    assert order.index("mov.u32 %r1, 3") < order.index("mov.u32 %r1, 1")
    assert order.index("@%p2 bra $LOOP") == order.index("add.s32 %r2, %r2, 1") + 1
    assert order.index("mov.u32 %r1, 2") > order.index("@%p2 bra $LOOP")


def test_what_is_not_ptx_is_an_error_with_its_line() -> None:
    with pytest.raises(SimulationError, match="PTX line 4"):
        parse(HEAD + ".nonsense 5;")
    with pytest.raises(SimulationError, match="no kernel `q`"):
        build(parse(HEAD + ".visible .entry k() { ret; }"), "q")
