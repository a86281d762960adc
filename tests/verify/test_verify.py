"""Verification of whole kernels: what passes, what is refused, what fails and how it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import KernelFamily
from tilegen.program import Program
from tilegen.target import target
from tilegen.verify import Suite, Verdict, VerifyReport, verify_family, verify_kernel
from tilegen.verify.report import Variation

TARGET = target("sm_90")

TRANSPOSE = """\
kernel transpose[T: f32 | f16 | u8](M, N) {
    in  a: T[M, N]
    out b: T[N, M]

    b[j, i] = a[i, j]

    schedule naive  { threads i = 8, j = 32 }
    schedule tiled  { tile i = 32, j = 32; stage a }
    schedule padded { tile i = 32, j = 32; stage a pad 1 }
    schedule vector { tile i = 64, j = 64; stage a swizzle; vector 4 }

    test M = 1, N = 1
    test M = 33, N = 65
    test M = 256, N = 256
    test M = 8192, N = 8192 on gpu

    expect padded: bank_conflicts == 0
    expect vector: load_sectors <= 1.0 * ideal, bandwidth >= 0.9 * copy
    expect naive: store_sectors_per_request == 32 at M = 64, N = 64
}
"""

# Each verified in full: layouts, boundaries, types, launches. One kernel a line.
KERNELS = """\
kernel strided(M, N) { in a: f32[M, N] strides(*, *); out b: f32[M, N] strides(*, *); b[i, j] = a[i, j] + 1.0; schedule t { tile i = 16, j = 32; stage a pad 1 } }
kernel strided_rows(M, N) { in a: u8[M, N] strides(*, 1); out b: u8[N, M] strides(*, 1); b[j, i] = a[i, j] }
kernel pitch(M, N) { in a: i32[M, N] pitch 33; out b: i32[N, M] pitch 128B; b[j, i] = a[i, j] }
kernel aligned(N) { in a: f32[N] align 16B; out b: f32[N]; b[i] = a[i]; schedule v { tile i = 512; vector 4 } }
kernel im2col(C, H, W) { in x: f32[C, H, W] boundary constant 0; out y: f32[C, 3, 3, H, W]; y[c, r, s, h, w] = x[c, h + r - 1, w + s - 1] }
kernel symmetric(N) { in x: i32[N] boundary symmetric; out y: i32[5 * N]; y[i] = x[i - 2 * N] }
kernel gather(N, M, K) { in a: f32[N, K] boundary constant -1; in idx: i64[M]; out b: f32[M, K]; b[i, k] = a[idx[i], k] }
kernel axpy(N, alpha: f32 = 2.5, k: i32, flag: bool = true, h: f16 = 1.5) { in x: f32[N]; inout y: f32[N]; y[i] = where(flag, alpha * x[i] + y[i], f32(k) * f32(h)) }
kernel concat(M, N) { in a: u16[M]; in b: u16[N]; out y: u16[M + N]; y[i] = where(i < M, a[i], b[i - M]) }
kernel aos(P) { in p: struct { x: f32, k: u8, z: f64 }[P]; out q: struct { x: f32, k: u8, z: f64 }[P] soa; q[i] = p[i] }
kernel aosoa(P) { in p: struct { x: f32, k: u8, z: f64 }[P]; out q: struct { x: f32, k: u8, z: f64 }[P] aosoa(8); q[i] = p[i] }
kernel ranged(M, N) { in a: f32[M, N]; inout b: f32[M, N]; b[i, j] = a[i, j] * 2.0 for i in 1..M - 1, j in 1..N - 1 }
kernel scalar0() { in a: f32[]; out b: f32[]; b[] = a[] * 2.0 }
kernel fused(M, N) { in a: f32[M, N]; out b: f32[M, N]; out c: f32[N, M]; let t[i, j] = sigmoid(a[i, j]); b[i, j] = t[i, j]; c[j, i] = t[i, j] * 2.0 }
kernel integers(N) { in x, z: i32[N]; out y: i32[N]; y[i] = x[i] // z[i] * z[i] + x[i] % z[i] - 3 }
kernel halves(N) { in x: f16[N]; in r: bf16[N]; out y: f32[N]; y[i] = x[i] + r[i] }
kernel mask(M, N) { in a: c64[M, N]; in m: bool[M, N]; out b: c64[M, N]; b[i, j] = where(m[i, j], a[i, j], a[i, j]) }
"""  # noqa: E501


def family_of(text: str) -> KernelFamily:
    return check(parse(source_from_text(text, "spec.tile"))).kernels[0]


def failures(report: VerifyReport) -> str:
    return "\n".join(r.reason for r in report.failures) + str(report.problems)


@pytest.fixture(scope="module")
def transpose() -> KernelFamily:
    return family_of(TRANSPOSE)


@pytest.fixture(scope="module")
def reports(transpose: KernelFamily) -> tuple[VerifyReport, ...]:
    return verify_family(transpose, target=TARGET)


def test_the_first_example_of_the_language(reports: tuple[VerifyReport, ...]) -> None:
    for report in reports:
        assert report.passed, failures(report)
        assert {r.case.schedule for r in report.cases} == {"naive", "tiled", "padded", "vector", "auto"}
        waiting = [r for r in report.cases if r.verdict is Verdict.NEEDS_GPU]
        assert [dict(r.case.sizes)["M"] for r in waiting] == [8192] * 5


def test_expectations_are_measured(reports: tuple[VerifyReport, ...]) -> None:
    found = {e.condition: e for e in reports[0].expectations}
    assert found["bank_conflicts == 0"].measured == 0
    assert dict(found["bank_conflicts == 0"].sizes) == {"M": 256, "N": 256}
    assert found["load_sectors <= 1.0 * ideal"].measured == 256 * 256 * 4 / 32
    assert found["bandwidth >= 0.9 * copy"].verdict is Verdict.NEEDS_GPU
    assert found["store_sectors_per_request == 32"].measured == 32
    assert dict(found["store_sectors_per_request == 32"].sizes) == {"M": 64, "N": 64}
    # Without `at T = …` an expectation speaks of the first choice of types.
    assert reports[1].expectations == () == reports[2].expectations


def test_what_is_tried(reports: tuple[VerifyReport, ...]) -> None:
    cases = [r.case for r in reports[0].cases if r.case.schedule == "vector"]
    shapes = {tuple(v for _, v in c.sizes) for c in cases}
    assert {(1, 1), (33, 65), (256, 256), (65, 63), (64, 128), (0, 65), (65, 0)} <= shapes
    assert any(m == 131 and n <= 3 for m, n in shapes) and any(n == 131 and m <= 3 for m, n in shapes)
    assert {c.variation.misaligned for c in cases} == {(), ("a", "b"), ("a",), ("b",)}
    assert {c.variation.index for c in cases} == {None, "long long"}


def test_auto_is_tried_on_the_program_of_a_call_too(transpose: KernelFamily) -> None:
    suite = Suite(transpose, transpose.kernels[0], TARGET)
    fitted = [c for c in suite.cases if c.variation.fitted]
    assert {c.schedule for c in fitted} == {"auto"}
    assert [tuple(v for _, v in c.sizes) for c in fitted] == [(1, 1), (33, 65), (256, 256)]
    assert fitted[1].label == "auto-f32-M=33-N=65-fitted"
    program = suite.program_of(fitted[1])
    assert len(program.plans) > 1 and "33" in program.source
    assert suite.program_of(replace(fitted[1], variation=Variation())) is suite.program("auto")
    # It must be run, and not only the one for any sizes.
    wrong = program.source.replace("b[", "if (false) b[")
    assert wrong != program.source
    key = next(k for k, p in suite._programs.items() if p is program)
    suite._programs[key] = _with_source(program, wrong)
    verdicts = {
        c.variation.fitted: suite.run(c).verdict
        for c in suite.cases
        if c.written and c.sizes == fitted[1].sizes
    }
    assert verdicts[True] is Verdict.FAIL and verdicts[False] is Verdict.PASS


def test_metrics_of_the_tests_of_the_spec(reports: tuple[VerifyReport, ...]) -> None:
    known = [r.metrics for r in reports[0].cases if r.case.written and r.metrics is not None]
    assert len(known) == 15
    assert all(m.registers > 0 for m in known)


@pytest.mark.parametrize("line", KERNELS.splitlines(), ids=lambda line: line.split("(")[0].split()[1])
def test_kernels_of_all_kinds(line: str) -> None:
    family = family_of(line)
    report = verify_kernel(family, family.kernels[0], target=TARGET)
    assert report.passed, failures(report)


def test_the_default_lane_is_the_simulator_and_json_says_so(reports: tuple[VerifyReport, ...]) -> None:
    values = reports[0].to_json()
    assert values["where"] == "sim" and values["passed"] is True
    assert values["expectations"][0]["condition"] == "bank_conflicts == 0"


def test_an_expectation_that_does_not_hold() -> None:
    text = TRANSPOSE.replace("expect padded: bank_conflicts == 0", "expect tiled: bank_conflicts == 0")
    family = family_of(text)
    report = verify_kernel(family, family.kernels[0], target=TARGET, schedules=["tiled"], shapes="spec")
    assert not report.passed
    (failed,) = report.failures
    assert failed.reason == (
        "`bank_conflicts` of `tiled` is 63488 at M = 256, N = 256; expected bank_conflicts == 0"
    )


def test_bounds_exact_refuses_what_it_does_not_fit() -> None:
    family = family_of(TRANSPOSE.replace("stage a }", "stage a; bounds exact }"))
    report = verify_kernel(family, family.kernels[0], target=TARGET, schedules=["tiled"])
    assert report.passed, failures(report)
    refused = [r for r in report.cases if r.reason.startswith("refused, as `bounds exact` promises")]
    ran = [r for r in report.cases if not r.reason and not any(v % 32 for _, v in r.case.sizes)]
    assert len(refused) >= 5 and len(ran) >= 5


def test_a_promised_alignment_is_checked() -> None:
    family = family_of(KERNELS.splitlines()[3])
    report = verify_kernel(family, family.kernels[0], target=TARGET)
    assert any("as `align 16B` promises" in r.reason for r in report.cases)


def test_a_schedule_that_cannot_be_honoured_is_a_problem_of_its_own() -> None:
    family = family_of(
        TRANSPOSE.replace("tile i = 32, j = 32; stage a }", "tile i = 512, j = 512; stage a }")
    )
    report = verify_kernel(family, family.kernels[0], target=TARGET, shapes="spec")
    assert not report.passed
    assert [name for name, _ in report.problems] == ["tiled"]
    assert {r.case.schedule for r in report.cases} == {"naive", "padded", "vector", "auto"}


def test_a_kernel_that_cannot_be_generated_yet() -> None:
    family = family_of("kernel table(N) { in x: f32[256] constant; out y: f32[256]; y[i] = x[i] }")
    report = verify_kernel(family, family.kernels[0], target=TARGET)
    assert not report.generated and not report.passed and report.cases == ()


def test_variants_of_a_schedule_are_all_tried() -> None:
    family = family_of(TRANSPOSE.replace("stage a pad 1", "stage a pad {1, 3}"))
    suite = Suite(family, family.kernels[0], TARGET, schedules=["padded"])
    assert len(suite.variants) == 2
    assert {c.schedule for c in suite.cases} == set(suite.variants)


def test_an_empty_kernel_fails(transpose: KernelFamily) -> None:
    suite = Suite(transpose, transpose.kernels[0], TARGET, schedules=["naive"], shapes="spec")
    program = suite.program("naive")
    source = program.source.replace("b[j * M + i] = ", "if (false) b[j * M + i] = ")
    assert source != program.source
    suite._programs["naive", (), None] = _with_source(program, source)
    results = [suite.run(c) for c in suite.cases if not c.on_gpu]
    assert all(r.verdict is Verdict.FAIL and "never written" in r.reason for r in results)


def _with_source(program: Program, source: str) -> Program:
    return replace(program, rendered=replace(program.rendered, source=source))


def test_compile_time_sizes_are_overridden_by_a_test() -> None:
    text = """\
kernel rows(N, K = 8) {
    in a: f32[N, K]; out b: f32[K, N]
    b[k, i] = a[i, k]
    test N = 5
    test N = 5, K = 3
}
kernel leading(M, N, lda) {
    in a: f32[M, N] strides(lda, 1); out b: f32[M, N]
    b[i, j] = a[i, j] + 1
    test M = 5, N = 70, lda = 9
}
kernel leading_column(M, N, lda) {
    in p: struct { x: f32, k: u8 }[M, N] strides(1, lda) soa; out b: f32[M, N]
    b[i, j] = p[i, j].x
}
kernel leading_out(M, N, ldb) {
    in a: f32[M, N]; out b: f32[M, N] strides(ldb, 1)
    b[i, j] = a[i, j] + 1
    schedule s { threads i = 8, j = 32 }
}
"""
    family = family_of(text)
    report = verify_kernel(family, family.kernels[0], target=TARGET, shapes="spec")
    assert report.passed, failures(report)
    assert [dict(r.case.sizes).get("K") for r in report.cases] == [None, 3] * 2


def test_tolerances_of_a_test_are_used() -> None:
    text = """\
kernel wave(N) {
    in a: f32[N]; out b: f32[N]
    b[i] = sin(a[i])
    test N = 100
    test N = 100 rtol 0 atol 0
}
"""
    family = family_of(text)
    suite = Suite(family, family.kernels[0], TARGET, schedules=["auto"], shapes="spec")
    default, exact = (suite.run(c) for c in suite.cases if not c.variation.fitted)
    assert default.verdict is Verdict.PASS
    assert exact.verdict is Verdict.FAIL and "elements are wrong" in exact.reason
