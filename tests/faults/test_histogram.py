"""A generated histogram made wrong on purpose: what is dropped or moved is found, by the simulator or by the counts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tilegen.program import Program
from tilegen.run.outcome import Options
from tilegen.run.simulated import simulate_program
from tilegen.verify import compare
from tilegen.verify.inputs import default_fill, make_inputs

from .test_mutations import Judgement, expected, program_of

BYTES = "kernel hist(N) {\n    in x: u8[N]; out h: i32[256]\n    h[b] = count[i](x[i] == b)\n}\n"
KEYS = (
    "kernel hist(N) {\n    in x: i32[N]; out h: i32[100]\n    h[b] = count[i](x[i] == b) for b in 3..90\n}\n"
)
STRIDES = BYTES.replace(
    "== b)\n", "== b)\n    schedule s { threads i = 32; vector 4; unroll i = 1; min_blocks 1 }\n"
)

# Three blocks, the last one with few elements: most of its totals are those of the others.
SIZES = {"N": 2 * 32768 + 4}


def judge(program: Program, source: str, n: int | None = None) -> Judgement:
    sizes = SIZES if n is None else {"N": n}
    kernel = program.kernel
    inputs = make_inputs(kernel, sizes, default_fill(kernel), 0)
    initial = (
        {}
        if "for b" not in kernel.span.source.text
        else {"h": expected(kernel, sizes, inputs)["h"].value * 0}
    )
    run = simulate_program(program, sizes, inputs, options=Options(initial=initial), source=source)
    return Judgement(source, run, compare(program, run, expected(kernel, sizes, inputs), inputs))


def nth(pattern: str, number: int, replacement: str = "") -> Callable[[str], str]:
    """The match `number` of a pattern replaced; what it stands on stays a line."""

    def change(source: str) -> str:
        place = list(re.finditer(pattern, source))[number]
        return source[: place.start()] + replacement + source[place.end() :]

    return change


def swap(old: str, new: str) -> Callable[[str], str]:
    def change(source: str) -> str:
        assert old in source, old
        return source.replace(old, new, 1)

    return change


BARRIER, FENCE = r"__syncthreads\(\);", r"__threadfence\(\);"
SHARED, GLOBAL = "race on shared memory", "race on global memory"
ANY = ""  # the counts show it, or the simulator

# What is changed, and the title of a finding.
CHANGES: dict[str, tuple[str, Callable[[str], str], str]] = {
    "bins are not cleared before they are counted": (BYTES, nth(BARRIER, 0), SHARED),
    "totals are taken while others count": (BYTES, nth(BARRIER, 1), SHARED),
    "a ticket before the block's totals": (BYTES, nth(BARRIER, 2), GLOBAL),
    "the ticket is read before it is drawn": (BYTES, nth(BARRIER, 3), SHARED),
    "no fence before the ticket": (BYTES, nth(FENCE, 0), GLOBAL),
    "no fence after the ticket": (BYTES, nth(FENCE, 1), GLOBAL),
    "bins that nobody clears": (BYTES, swap("counts[n] = 0;", ""), "read of shared memory never written"),
    "counts without atomics": (BYTES, nth(r"atomicAdd.*\n", 0, "*reinterpret_cast<T*>(counts) += value;\n"), SHARED),
    "totals without atomics": (BYTES, swap("atomicAdd(totals + n, total)", "totals[n] += total"), GLOBAL),
    "bins that are too wide apart": (BYTES, swap("b * PITCH", "b * (PITCH + 4)"), "write outside every allocation"),
    "the last key is a bin too far": (KEYS, swap("b < 87u ?", "b < 89u ?"), "write outside every allocation"),
    "keys outside are not left out": (KEYS, swap("b < 87u ? b : BINS", "b"), "write outside every allocation"),
    "the first bin is another one": (KEYS, swap("- 3u", "- 2u"), ANY),
    "nobody is the last block": (BYTES, swap("1u) + 1 == gridDim.x", "1u) == gridDim.x"), ANY),
    "the second last block writes": (BYTES, swap("1u) + 1 == gridDim.x", "1u) + 2 == gridDim.x"), ANY),
    "a copy is left out": (BYTES, swap("c < COPIES;", "c < COPIES - 1;"), ANY),
    "the last elements are left out": (BYTES, swap("blockIdx.x == 0 && i < N", "false"), ANY),
    "every block counts the last elements": (BYTES, swap("blockIdx.x == 0 && i < N", "i < N"), ANY),
    "a stride that is too long": (STRIDES, swap("first += stride", "first += stride + THREADS"), ANY),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_found(what: str) -> None:
    text, change, title = CHANGES[what]
    program = program_of(text, "s" if "schedule" in text else None)
    n = 3 * 132 * 128 + 5 if "schedule" in text else 70_001 if title == "" else None
    source = change(program.source)
    assert source != program.source
    found = judge(program, source, n)
    assert title in found.titles if title else found.text, found.text
    assert judge(program, program.source, n).text == ""
