"""Which launches are profiled: a rule over `specs/`, so that no case is chosen by its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tilegen.lang.check import check
from tilegen.lang.parse import parse, read_source
from tilegen.lang.spec import KernelFamily
from tilegen.program import Program
from tilegen.run.outcome import Arguments, place
from tilegen.target import Target
from tilegen.verify import Case, Suite, Variation

SPECS = Path(__file__).parents[1] / "specs"
# Kernels for which every element type is profiled; of the others the first one.
EVERY_TYPE = frozenset({"transpose", "bank_strides", "transpose_doubles", "copy_wide", "pad_reflect"})


@dataclass(frozen=True)
class Launch:
    """One case of a suite."""

    spec: str
    suite: Suite
    case: Case

    @property
    def name(self) -> str:
        return f"{self.spec}: {self.case}"

    @cached_property
    def program(self) -> Program:
        return self.suite.program_of(self.case)

    def place(self) -> Arguments:
        """Inputs of the case, laid out in host memory."""
        inputs, _ = self.suite._reference(self.case)
        options = self.suite._options(self.program, self.case)
        return place(self.program, self.suite._sizes(self.case), inputs, dict(self.case.scalars), options)


def families() -> list[tuple[str, KernelFamily]]:
    """Every kernel of `specs/` with the name of its file."""
    paths = sorted(SPECS.glob("*.tile"))
    return [(p.stem, family) for p in paths for family in check(parse(read_source(str(p)))).kernels]


def named(name: str, only: str) -> bool:
    """Whether `name` contains one of the words in `only`, which commas part."""
    return any(word in name for word in only.split(","))


def launches(target: Target, only: str = "", family: str | None = None) -> list[Launch]:
    """Every kernel of `specs/` under every schedule, at the last two shapes that its spec tests (a ragged one and one
    that tiles divide), `auto` as it is for any size and
    fitted to these, once with misaligned pointers where wide accesses have a second variant, and with every
    layout where strides are free. `only`: a part of the case's name; `family`: one kernel."""
    chosen = [(stem, f) for stem, f in families() if family is None or f.name == family]
    return [one for stem, f in chosen for one in _of(stem, f, target) if named(one.name, only)]


def _has_work(case: Case) -> bool:
    """Whether there is something to launch: an extent of zero leaves nothing."""
    return all(size > 0 for _, size in case.sizes)


def _of(spec: str, family: KernelFamily, target: Target) -> Iterator[Launch]:
    for kernel in family.kernels if family.name in EVERY_TYPE else family.kernels[:1]:
        suite = Suite(family, kernel, target, shapes="spec")
        if not suite.generated:
            continue
        for schedule in suite.variants:
            cases = [c for c in suite.cases if c.schedule == schedule and not c.on_gpu and _has_work(c)]
            plain = [c for c in cases if c.variation == Variation()]
            shapes = list(dict.fromkeys(replace(c, scalars=plain[-1].scalars) for c in plain))[-2:]
            fitted = [c for c in cases if c.variation.fitted and c.sizes in {s.sizes for s in shapes}]
            for case in (*shapes, *fitted):
                yield Launch(spec, suite, case)
            program = suite.program(schedule)
            if len(program.plans) > 1 and all(p.align is None for p in program.nest.pointers):
                pointers = tuple(p.name for p in program.nest.pointers)
                yield Launch(spec, suite, replace(shapes[-1], variation=Variation(misaligned=pointers)))
            if program.nest.dynamic_strides:
                for way in ("padded", "negative", "transposed"):
                    yield Launch(spec, suite, replace(shapes[0], variation=Variation(strides=way)))
