"""A generated kernel made wrong on purpose: the simulator or the comparison says what is wrong, and on which line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.program import Program, build
from tilegen.reference import expected
from tilegen.run.outcome import Options, Run
from tilegen.run.simulated import simulate_program
from tilegen.target import target
from tilegen.verify import Mismatch, compare
from tilegen.verify.inputs import default_fill, make_inputs

SIZES = {"M": 33, "N": 65}
STORE = r"\bb\[.*\] = a_tile"
FILL = r"\ba_tile\[.*\] = a\["

TRANSPOSE = """\
kernel transpose(M, N) {
    in  a: f32[M, N]
    out b: f32[N, M]

    b[j, i] = a[i, j]

    schedule naive  { threads i = 8, j = 32 }
    schedule padded { tile i = 32, j = 32; stage a pad 1 }
    schedule vector { tile i = 64, j = 64; stage a swizzle; vector 4 }
}
"""


def program_of(text: str, schedule: str | None = None) -> Program:
    family = check(parse(source_from_text(text, "spec.tile"))).kernels[0]
    chosen = next((s for s in family.schedules if s.name == schedule), None)
    assert schedule is None or chosen is not None
    return build(family.kernels[0], chosen, target("sm_90"))


@dataclass(frozen=True)
class Judgement:
    """What was found in one run of an altered source."""

    source: str
    run: Run
    mismatches: tuple[Mismatch, ...]

    @property
    def text(self) -> str:
        return "\n".join((*self.run.faults, *map(str, self.mismatches)))

    @property
    def titles(self) -> set[str]:
        return {f.title for f in self.run.findings}

    def line_of(self, pattern: str) -> int:
        """The line of the altered source that matches."""
        code = enumerate(self.source.split("\n"), 1)
        lines = [n for n, line in code if re.search(pattern, line) and not line.lstrip().startswith("//")]
        assert lines, f"no line matches {pattern}"
        return lines[0]


def judge(
    program: Program, source: str, sizes: Mapping[str, int], options: Options | None = None
) -> Judgement:
    """Run `source` in place of the program's own and compare the result."""
    kernel = program.kernel
    inputs = make_inputs(kernel, sizes, default_fill(kernel), 0)
    run = simulate_program(program, sizes, inputs, options=options or Options(), source=source)
    return Judgement(source, run, compare(program, run, expected(kernel, sizes, inputs), inputs))


def mutate(source: str, pattern: str, replacement: str, count: int = 1) -> str:
    """`source` with a pattern replaced, which must be there; comments stay. Lines keep their numbers where no line is
    removed."""
    places = [m for m in re.finditer(pattern, source) if "//" not in source[: m.start()].rsplit("\n", 1)[-1]]
    assert places, f"{pattern!r} is not in the generated source:\n{source}"
    for place in reversed(places[: count or None]):
        source = source[: place.start()] + place.expand(replacement) + source[place.end() :]
    return source


@pytest.fixture(scope="module")
def padded() -> Program:
    return program_of(TRANSPOSE, "padded")


@pytest.fixture(scope="module")
def naive() -> Program:
    return program_of(TRANSPOSE, "naive")


@pytest.fixture(scope="module")
def vector() -> Program:
    return program_of(TRANSPOSE, "vector")


def said_at(found: Judgement, title: str, pattern: str) -> bool:
    """Whether a fault of this kind names the line that matches, in the kernel and in words."""
    line = found.line_of(pattern)
    return any(
        f.title == title and f.line == line and f"kernel line {line}:" in str(f) for f in found.run.findings
    )


@pytest.mark.parametrize("schedule", ["naive", "padded", "vector"])
def test_the_source_as_generated_is_right(schedule: str, request: pytest.FixtureRequest) -> None:
    program: Program = request.getfixturevalue(schedule)
    assert judge(program, program.source, SIZES).text == ""


def test_a_barrier_removed(padded: Program) -> None:
    found = judge(padded, mutate(padded.source, r"__syncthreads\(\);", ""), SIZES)
    assert said_at(found, "race on shared memory", STORE) or said_at(
        found, "read of shared memory never written", STORE
    )
    assert "spec line 5: b[j, i] = a[i, j]" in found.text


def test_the_pad_declared_but_not_in_the_index(padded: Program) -> None:
    source = mutate(padded.source, r"a_tile\[(\w+)\]\[(\w+)\] = a\[", r"(&a_tile[0][0])[\1 * 32 + \2] = a[")
    found = judge(padded, source, SIZES)
    assert "read of shared memory never written" in found.titles
    wrong = found.mismatches[0]
    assert wrong.wrong > 1000
    assert "expected" in wrong.text and "(a[" in wrong.text


def test_the_pad_in_the_index_but_not_declared(padded: Program) -> None:
    flat = mutate(
        padded.source, r"(a_tile)\[(\w+)\]\[(\w+)\]( = a\[|;\n +\})", r"(&\1[0][0])[\2 * 33 + \3]\4", count=2
    )
    source = mutate(flat, r"TILE_J \+ 1\]", "TILE_J]")
    found = judge(padded, source, {"M": 64, "N": 64})
    assert said_at(found, "write outside every allocation", r"a_tile.* = a\[")
    assert said_at(found, "read outside every allocation", r"\bb\[.*a_tile")


def test_a_guard_off_by_one(padded: Program) -> None:
    at = padded.source.index("__syncthreads")
    source = padded.source[:at] + mutate(padded.source[at:], r"j < N && i < M", "j <= N && i < M")
    found = judge(padded, source, SIZES)
    assert said_at(found, "write outside every allocation", STORE)
    assert "past the end of `b`" in found.text


def test_a_guard_off_by_one_on_the_load(padded: Program) -> None:
    found = judge(padded, mutate(padded.source, r"j < N && i < M", "j < N && i <= M"), SIZES)
    assert said_at(found, "read outside every allocation", FILL)


def test_a_guard_that_leaves_the_last_row_out(padded: Program) -> None:
    at = padded.source.index("__syncthreads")
    source = padded.source[:at] + mutate(padded.source[at:], r"j < N && i < M", "j < N && i < M - 1")
    found = judge(padded, source, SIZES)
    assert not found.run.findings
    assert "65 of 2145 elements were never written" in found.text
    assert "axis 1: only 32 (the last)" in found.text


def test_a_swapped_index(naive: Program) -> None:
    found = judge(naive, mutate(naive.source, r"a\[i \* N \+ j\]", "a[j * M + i]"), {"M": 9, "N": 40})
    text = str(found.mismatches[0])
    assert "b[39, 0]" in text or "b[" in text
    assert "expected" in text and "got" in text and text.count("(a[") >= 2
    assert "thread" in text


def test_swapped_tile_indices(padded: Program) -> None:
    source = mutate(padded.source, r"= a_tile\[(\w+)\]\[(\w+)\];", r"= a_tile[\2][\1];")
    found = judge(padded, source, {"M": 64, "N": 64})
    assert not found.run.findings
    wrong = found.mismatches[0]
    assert wrong.wrong == 64 * 64 - 64 * 2
    assert "got" in wrong.text and "(a[" in wrong.text


def test_a_vector_access_on_a_misaligned_pitch(vector: Program) -> None:
    program = replace(vector, plans=(replace(vector.plans[0], conditions=()), *vector.plans[1:]))
    found = judge(program, program.source, {"M": 64, "N": 65})
    assert said_at(found, "misaligned access", r"rows\[r\] = .*\(a \+|= \*reinterpret_cast<const f32x4\*>\(a")


def test_a_vector_access_on_a_misaligned_pointer(vector: Program) -> None:
    program = replace(vector, plans=(replace(vector.plans[0], conditions=()), *vector.plans[1:]))
    found = judge(program, program.source, {"M": 64, "N": 64}, Options(misalign={"b": 4}))
    # The statement takes two lines; the compiler gives its second one as the place of the store.
    assert said_at(found, "misaligned access", r"\*>\(&a_tile\[tile_j\]")


def test_shared_memory_read_before_it_is_written(padded: Program) -> None:
    source = mutate(
        padded.source, r"a_tile\[(\w+)\]\[(\w+)\] = a\[(.*?)\];", r"if (\2 != 3) a_tile[\1][\2] = a[\3];"
    )
    found = judge(padded, source, SIZES)
    assert said_at(found, "read of shared memory never written", STORE)


def test_an_early_return_before_the_barrier(padded: Program) -> None:
    source = mutate(
        padded.source, r"__syncthreads\(\);", "if (i0 + thread / 32 >= M) return; __syncthreads();"
    )
    found = judge(padded, source, SIZES)
    assert said_at(found, "barrier that part of the block never reaches", "__syncthreads")


def test_a_barrier_in_a_branch(padded: Program) -> None:
    found = judge(
        padded, mutate(padded.source, r"__syncthreads\(\);", "if (thread < 100) __syncthreads();"), SIZES
    )
    assert found.titles & {
        "barrier that part of the block never reaches",
        "threads of a block wait at different barriers",
        "race on shared memory",
    }


def test_an_empty_kernel(padded: Program) -> None:
    source = mutate(padded.source, r"const int thread = ", "return; const int thread = ")
    found = judge(padded, source, SIZES)
    assert not found.run.findings
    assert "`b`: 2145 of 2145 elements were never written" in found.text
    assert "never written; computed by tile" in found.text


def test_a_kernel_that_writes_a_constant(naive: Program) -> None:
    found = judge(naive, mutate(naive.source, r"= a\[.*?\];", "= 7.0f;"), SIZES)
    assert found.mismatches[0].wrong == 33 * 65 - 1


def test_one_block_too_many_writes_elsewhere(naive: Program) -> None:
    source = mutate(naive.source, r"b\[(.*?)\] = ", r"b[\1 + 1] = ")
    found = judge(naive, source, SIZES)
    assert said_at(found, "write outside every allocation", r"\bb\[")
    assert "never written" in found.text


def test_two_threads_write_one_element(naive: Program) -> None:
    found = judge(naive, mutate(naive.source, r"b\[(.*?)\] = ", r"b[(\1) / 2] = "), SIZES)
    assert said_at(found, "race on global memory", r"\bb\[")


PITCHED = """\
kernel pitched(M, N) {
    in  a: f32[M, N]
    out b: f32[M, N] pitch 128B

    b[i, j] = a[i, j]

    schedule rows { threads i = 4, j = 32 }
}
"""


def test_a_write_to_the_padding_of_a_pitch() -> None:
    program = program_of(PITCHED, "rows")
    found = judge(program, mutate(program.source, r"j < N", "j < N + 1"), {"M": 3, "N": 30})
    assert "write to padding" in found.titles
    assert "the first 120 bytes past the pointer" in found.text


PARTIAL = """\
kernel partial(N) {
    in  a: i32[N]
    out b: i32[2 * N]

    b[2 * i] = a[i]

    schedule rows { threads i = 64 }
}
"""


def test_elements_that_are_not_assigned_keep_their_value() -> None:
    program = program_of(PARTIAL, "rows")
    assert judge(program, program.source, {"N": 100}).text == ""
    source = mutate(program.source, r"(b\[[^;]*?\]) = (a\[[^;]*?\]);", r"{ \1 = \2; b[2 * i + 1] = 0; }")
    found = judge(program, source, {"N": 100})
    assert "100 elements that the kernel does not assign were written, the first b[1]" in found.text
