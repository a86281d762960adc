"""Checks: `syntax.File` to `spec.Spec`. Every rule of the language is applied here, and every problem found is told."""

from __future__ import annotations

from tilegen.lang import syntax
from tilegen.lang.check.call_rules import call_problems
from tilegen.lang.check.kernels import check_kernel
from tilegen.lang.check.problems import Problems
from tilegen.lang.diagnostics import SpecError
from tilegen.lang.spec import Spec

__all__ = ["call_problems", "check"]


def check(file: syntax.File) -> Spec:
    """The checked spec. Raises SpecError with all problems, in the order of the text."""
    problems = Problems()
    families = []
    names: dict[str, syntax.KernelDecl] = {}
    for kernel in file.kernels:
        _kernel_named_once(kernel, names, problems)
        families.append(check_kernel(kernel, problems))
    if problems.found:
        raise SpecError(problems.ordered)
    return Spec(file.source, tuple(f for f in families if f is not None))


def _kernel_named_once(
    kernel: syntax.KernelDecl, names: dict[str, syntax.KernelDecl], problems: Problems
) -> None:
    earlier = names.setdefault(kernel.name.name, kernel)
    if earlier is not kernel:
        place = earlier.name.span
        problems.report("TG0201.kernel", kernel.name.span, name=kernel.name.name, earlier=place)
