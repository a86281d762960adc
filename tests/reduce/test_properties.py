"""Any kernel with reductions, layout and schedule: refused with a diagnostic, or right and without a fault."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from tilegen.lang.diagnostics import SpecError

from .harness import Ready, Trial, execute, prepare, program_of

EXTENTS = (0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 130, 260, 1025)
TYPES = ("f32", "f32", "f16", "bf16", "f64", "i32", "u8", "i16", "i64", "u32", "bool")
SIZE = {"u8": 1, "bool": 1, "f16": 2, "bf16": 2, "i16": 2, "f32": 4, "i32": 4, "u32": 4, "f64": 8, "i64": 8}
NUMBERS = ("sum", "sum", "max", "min", "mean", "prod", "argmax", "argmin")
TRUTHS = ("any", "all", "count")
NEEDS_ONE = {"max", "min", "mean", "argmax", "argmin"}
MOST = 9000  # elements
EXAMPLES = 25
TOGETHER = 4


@st.composite
def layouts(draw: st.DrawFn, rank: int) -> str:
    """Layout clauses of a tensor."""
    found = []
    match draw(st.sampled_from(("dense", "dense", "dense", "order", "pitch", "free"))):
        case "order" if rank > 1:
            found.append(f"order({', '.join(map(str, draw(st.permutations(range(rank)))))})")
        case "pitch" if rank > 1:
            found.append(draw(st.sampled_from(("pitch 128B", "pitch 33", "pitch 16"))))
        case "free" if rank > 0:
            found.append(f"strides({', '.join('*' * rank)})")
    if draw(st.integers(0, 3)) == 0:
        found.append(f"offset {draw(st.sampled_from((1, 2, 4, 16)))}")
    return " ".join(found)


@st.composite
def strides_of(draw: st.DrawFn, extents: Sequence[int], output: bool) -> tuple[int, ...]:
    """Strides of an array in any order of axes, with gaps, backwards, and (inputs) with repeated axes."""
    strides, step = [0] * len(extents), 1
    for axis in draw(st.permutations(range(len(extents)))):
        strides[axis] = step * draw(st.sampled_from((1, 1, -1)))
        step *= max(1, extents[axis]) + draw(st.sampled_from((0, 0, 1, 3)))
    if not output and draw(st.integers(0, 3)) == 0:
        strides[draw(st.integers(0, len(extents) - 1))] = 0
    return tuple(strides)


@st.composite
def schedules(
    draw: st.DrawFn, parallel: Sequence[str], reduced: Sequence[str], tensors: Sequence[str], dtype: str
) -> str:
    """The directives of one schedule, empty for `auto`."""
    if draw(st.integers(0, 2)) == 0:
        return ""
    found = []
    threads = []
    if draw(st.integers(0, 3)):
        along = draw(st.sampled_from((1, 2, 4, 8, 16, 32, 64, 128, 256)))
        beside = draw(st.sampled_from([n for n in (1, 2, 3, 4, 8, 16, 32, 64) if n * along <= 512]))
        threads = [f"{reduced[-1]} = {along}"]
        threads += [f"{parallel[0]} = {beside}"] if parallel else []
        found.append("threads " + ", ".join(draw(st.permutations(threads))))
    width = 1
    match draw(st.integers(0, 3)):
        case 0 | 1:
            width = draw(st.sampled_from([w for w in (2, 4, 8, 16) if w * SIZE[dtype] <= 16]))
            found.append(f"vector {width}")
        case 2:
            width = draw(st.sampled_from([w for w in (2, 4, 8, 16) if w * SIZE[dtype] <= 16]))
            found.append(f"vector {draw(st.sampled_from(tensors))} = {width}")
    match draw(st.integers(0, 3)):
        case 0 if threads:
            found.append(f"tile {reduced[-1]} = {along * width * draw(st.sampled_from((1, 2, 3, 4)))}")
        case 1:
            found.append(f"unroll {reduced[-1]} = {draw(st.sampled_from((1, 2, 3)))}")
        case 2 if parallel:
            found.append(f"tile {parallel[0]} = {draw(st.sampled_from((1, 2, 4, 8, 32)))}")
    if draw(st.integers(0, 5)) == 0:
        found.append(
            draw(st.sampled_from(("index i64", "max_registers 64", "min_blocks 2", "hint x streaming")))
        )
    return "; ".join(found)


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[str], list[str], dict[str, int]]:
    """Parallel axes, reduced axes, and the extent of each."""
    parallel = list("ij"[: draw(st.integers(0, 2))])
    reduced = list("kl"[: draw(st.sampled_from((1, 1, 2)))])
    extents: dict[str, int] = {}
    for axis in draw(st.permutations([*parallel, *reduced])):
        room = MOST // prod(max(1, e) for e in extents.values())
        extents[axis] = draw(st.sampled_from([e for e in EXTENTS if e <= room]))
    return parallel, reduced, extents


class _Maker:
    """Statements over tensors `x` (all axes), `w` (some), `g` (parallel ones) with one element type."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.parallel, self.reduced, self.extents = draw(spaces())
        self.dtype = draw(st.sampled_from(TYPES))
        every = [*self.parallel, *self.reduced]
        self.axes = {
            "x": draw(st.permutations(every)),
            "w": draw(st.lists(st.sampled_from(every), unique=True)),
            "g": draw(st.lists(st.sampled_from(self.parallel), unique=True)) if self.parallel else [],
        }
        self.floating = self.dtype in ("f32", "f16", "bf16", "f64")
        self.empty = any(self.extents[a] == 0 for a in self.reduced)
        self.headers: list[str] = []
        self.lines: list[str] = []
        self.clauses: dict[str, str] = {}
        self.shapes: dict[str, list[int]] = {}
        self.lets: list[str] = []

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def read(self, tensor: str, names: dict[str, str]) -> str:
        return f"{tensor}[{', '.join(names.get(a, a) for a in self.axes[tensor])}]"

    def body(self, names: dict[str, str]) -> str:
        """What a reduction adds up, along axes renamed by `names`."""
        x, w, g = (self.read(t, names) for t in "xwg")
        if self.dtype == "bool":
            return str(self.pick(x, f"{x} and {w}", f"{x} or not {w}"))
        choices = [x, x, f"{x} * {w}", f"{x} + {w} * {g}", f"where({x} > {w}, {x}, {w})", f"abs({x} - {g})"]
        if self.floating:
            choices += [f"exp(-abs({x}))", f"f32({x}) * f32({w})"]
            choices += [f"({x} - {let}) ** 2" for let in self.lets]
            choices += [f"{let} * {x}" for let in self.lets]
        else:
            choices += [f"f32({x}) * 0.5", f"i64({x})"]
        return str(self.pick(*choices))

    def reduction(self, names: dict[str, str]) -> tuple[str, str]:
        """The reduction and its operator."""
        operator = self.pick(*(TRUTHS if self.dtype == "bool" else NUMBERS + TRUTHS))
        if self.empty and operator in NEEDS_ONE:
            operator = "sum" if self.dtype != "bool" else "any"
        if operator in ("argmax", "argmin") and len(self.reduced) > 1:
            operator = operator.removeprefix("arg")
        body = self.body(names)
        if operator == "mean" and not self.floating:
            body = f"f32({body})"
        if operator in TRUTHS and self.dtype != "bool":
            body = f"{body} > {self.read('w', names)}"
        along = self.draw(st.permutations([names.get(a, a) for a in self.reduced]))
        return f"{operator}[{', '.join(along)}]({body})", operator

    def tensor(self, name: str, role: str, dtype: str, axes: Sequence[str]) -> None:
        self.clauses[name] = self.draw(layouts(len(axes)))
        self.shapes[name] = [self.extents[a] for a in axes]
        extents = ", ".join(f"N{a}" for a in axes)
        self.headers.append(f"{role} {name}: {dtype}[{extents}] {self.clauses[name]}")

    def result(self, text: str, operator: str, name: str) -> str:
        """A value of `text` that a tensor of the kernel's type may take."""
        if operator in ("any", "all"):
            return f"where({text}, 1.0, 0.0)" if self.floating else text
        if operator in ("argmax", "argmin", "count"):
            return f"f64({text})"
        return text


@st.composite
def kernels(draw: st.DrawFn) -> Trial:
    make = _Maker(draw)
    for name in ("x", "w", "g"):
        make.tensor(name, "in ", make.dtype, make.axes[name])
    other = {a: f"{a}{a}" for a in make.reduced}
    outputs = draw(st.integers(1, 2))
    along = bool(make.reduced) and draw(st.booleans())
    for level in range(draw(st.integers(0, 2)) if make.floating else 0):
        text, operator = make.reduction(other)
        name = f"v{level}"
        head = f"{name}[{', '.join(make.parallel)}]"
        if operator not in ("any", "all"):
            make.lines.append(f"let {head} = f32({text})")
            make.lets.append(head)
    for n in range(outputs):
        text, operator = make.reduction(other)
        order = draw(st.permutations(make.parallel))
        kind = {"any": "bool", "all": "bool", "count": "i64", "argmax": "i64", "argmin": "i64"}.get(
            operator, "f64"
        )
        cast = text if kind == "bool" else f"{kind}({text})"
        make.tensor(f"s{n}", "out", kind, order)
        make.lines.append(f"s{n}[{', '.join(order)}] = {cast}")
    if along:
        text, operator = make.reduction(other)
        order = draw(st.permutations([*make.parallel, *make.reduced]))
        value = make.read("x", {})
        kind = "bool" if make.dtype == "bool" else "f64"
        if make.dtype == "bool":
            value = f"{value} and {text}" if operator != "count" else f"{value} and {text} > 1"
        elif operator in ("any", "all"):
            value = f"where({text}, f64({value}), 0.0)"
        else:
            value = f"f64({value}) * f64({text})"
        make.tensor("y", "out", kind, order)
        make.lines.append(f"y[{', '.join(order)}] = {value}")
    schedule = draw(schedules(make.parallel, list(other.values()), list(make.shapes), make.dtype))
    lines = [*make.headers, *make.lines, *([f"schedule s {{ {schedule} }}"] if schedule else [])]
    sizes = {f"N{a}": e for a, e in make.extents.items()}
    text = f"kernel t({', '.join(sizes)}) {{\n" + "".join(f"    {line}\n" for line in lines) + "}"
    strides = {
        name: draw(strides_of(make.shapes[name], name[0] in "sy"))
        for name, clauses in make.clauses.items()
        if "strides(" in clauses
    }
    misalign = {
        t: SIZE[make.dtype] * draw(st.sampled_from((1, 2, 3))) for t in "xw" if draw(st.integers(0, 4)) == 0
    }
    return Trial(text, sizes, strides=strides, misalign=misalign, fitted=not schedule and draw(st.booleans()))


def check_trials(drawn: list[Trial], counts: dict[str, int]) -> None:
    found: list[Ready] = []
    for number, trial in enumerate(drawn):
        try:
            found.append(prepare(trial, program_of(trial, f"k{number}")))
        except SpecError as error:
            codes = {d.code for d in error.diagnostics}
            assert all(c.startswith("TG06") for c in codes), f"{error}\n{trial}"
            event(f"refused {sorted(codes)}")
            counts["refused"] += 1
    counts["run"] += len(found)
    execute(found)


def test_any_reduction_gives_the_reference_or_a_diagnostic() -> None:
    counts = {"run": 0, "refused": 0}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),  # a failing trial is printed whole; shrinking it takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(kernels(), min_size=TOGETHER, max_size=TOGETHER))
    def search(drawn: list[Trial]) -> None:
        check_trials(drawn, counts)

    search()
    assert counts["run"] > 0.4 * EXAMPLES * TOGETHER, counts
