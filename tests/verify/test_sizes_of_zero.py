"""Sizes of 0 where index expressions divide by sizes: nothing is launched, or the call is refused; nothing fails."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilegen.lang.check import call_problems, check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import KernelFamily
from tilegen.program import build
from tilegen.reference import evaluate
from tilegen.run.simulated import simulate_program
from tilegen.target import target
from tilegen.verify import verify_kernel

Array = npt.NDArray[np.float32]
TARGET = target("sm_90")


@dataclass(frozen=True)
class Form:
    """`text`: statements on `in x: f32[N]` and an output. `formula`: what NumPy says, from x and the sizes N and M."""

    name: str
    output: str
    text: str
    formula: Callable[[Array, int, int], Array]

    @property
    def spec(self) -> str:
        return f"kernel k(N, M) {{ in x: f32[N]\n out y: f32[{self.output}]\n {self.text}\n test N = 12, M = 3 }}"


def _nothing(count: int) -> Array:
    return np.zeros(count, np.float32)


FORMS = [
    Form("roll", "N", "y[i] = x[(i + 1) % N]", lambda x, n, m: np.roll(x, -1)),
    Form("nearest", "M", "y[i] = x[i * N // M]", lambda x, n, m: x[[i * n // m for i in range(m)]]),
    Form("pairs", "N, M", "y[i, j] = x[(i + j) % N]", lambda x, n, m: x[np.add.outer(np.arange(n), np.arange(m)) % n]
         if n else np.zeros((n, m), np.float32)),
    Form("rows", "N // M, M", "y[i, j] = x[i * M + j]", lambda x, n, m: x[: n // m * m].reshape(n // m, m)),
    Form("range", "N", "y[i] = x[i] + 1.0 for i in 0..N // M",
         lambda x, n, m: np.concatenate([x[: n // m] + 1, _nothing(n - n // m)])),
    Form("pooling", "M", "y[i] = sum[k in 0..N // M](x[i * (N // M) + k])",
         lambda x, n, m: x[: n // m * m].reshape(m, n // m).sum(axis=1) if m else _nothing(0)),
    Form("guarded", "N", "y[i] = where(M > 0, x[i % M], -1.0)",
         lambda x, n, m: x[np.arange(n) % m] if m else np.full(n, -1, np.float32)),
    Form("local", "N", "let d[i] = x[(i + 1) % N] for i in 0..N\n y[i] = d[i] - 1.0",
         lambda x, n, m: np.roll(x, -1) - 1),
    Form("nested", "N", "y[i] = x[i // N % N + i]", lambda x, n, m: x),
]  # fmt: skip


def _family(text: str) -> KernelFamily:
    return check(parse(source_from_text(text))).kernels[0]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_such_specs_are_verified(form: Form) -> None:
    family = _family(form.spec)
    report = verify_kernel(family, family.kernels[0], target=TARGET)
    assert report.passed, [str(r.reason) for r in report.failures]
    assert {n for case in report.cases for n in case.case.sizes if n[1] == 0}, "no case has a size of 0"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_small_sizes_give_what_numpy_says(form: Form) -> None:
    kernel = _family(form.spec).kernels[0]
    program = build(kernel, None, TARGET)
    empty = 0
    for n, m in itertools.product((0, 1, 4), (0, 1, 2)):
        problems = call_problems(kernel, {"N": n, "M": m})
        if problems:
            assert {p.code for p in problems} <= {"TG0316", "TG0321", "TG0324"}
            continue
        x = np.arange(1, n + 1, dtype=np.float32)
        run = simulate_program(program, {"N": n, "M": m}, {"x": x})
        assert not run.faults
        expected = form.formula(x, n, m)
        actual = np.where(run.written["y"], run.outputs["y"], 0)
        np.testing.assert_array_equal(actual, expected)
        if run.shape is None:
            empty += 1
            assert not run.written["y"].any()
    assert empty, "no sizes launch nothing"


# Random expressions ------------------------------------------------------------------------------------------------


def _expressions(depth: int) -> st.SearchStrategy[str]:
    atoms = st.sampled_from(["i", "N", "M", "1", "2"])
    if depth == 0:
        return atoms
    inner = _expressions(depth - 1)
    divisors = st.sampled_from(["N", "M", "N // M", "(N % M)", "3"])
    return st.one_of(
        atoms,
        st.builds("({} + {})".format, inner, inner),
        st.builds("({} // {})".format, inner, divisors),
        st.builds("({} % {})".format, inner, divisors),
    )


@settings(max_examples=150, deadline=None)
@given(index=_expressions(3), n=st.integers(0, 4), m=st.integers(0, 4))
def test_the_reference_of_any_such_index(index: str, n: int, m: int) -> None:
    text = f"kernel k(N, M) {{ in x: f32[N] boundary wrap; out y: f32[M]; y[i] = x[{index}] for i in 0..M }}"
    kernel = _family(text).kernels[0]
    if call_problems(kernel, {"N": n, "M": m}):
        assert m > 0, "where no point is computed, nothing can be wrong"
        return
    x = np.arange(n, dtype=np.float32)
    if m and not n:
        return  # a boundary has nothing to map to: refused at the launch
    found = evaluate(kernel, {"N": n, "M": m}, {"x": x})["y"]
    try:
        places = [eval(index, {"i": i, "N": n, "M": m}) for i in range(m)]
    except ZeroDivisionError:
        return  # divisions that fold to a constant (`N // N`, `0 // M`) are not refused
    assert found.tolist() == [float(x[place % n]) for place in places]
