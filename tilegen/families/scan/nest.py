"""The nest of a kernel with scans: every scan runs along one axis of the output, by that axis's own name.

`y[i, j] = sum[k in 0..=j](x[i, k])` becomes a nest over `i` and `j` with `reduced == ("j",)`, in whose value the scan
is `sum[j in 0..j + 1](x[i, j])`: the total at the point. A suffix is a nest whose axis is mirrored: it is walked from
the end. What is no prefix and no suffix is an error that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tilegen.algebra import NON_NEGATIVE, ONE, Expr, bounds, substitute, sym, symbols
from tilegen.core.nest.affine import coefficient
from tilegen.core.nest.build import (
    closed_values,
    nest_over,
    not_yet,
    require_shared_space,
)
from tilegen.core.nest.merge import drop_unit_axes, merge_axes, mirror_axis
from tilegen.core.nest.model import Access, Nest
from tilegen.core.nest.reductions import reductions_of
from tilegen.core.nest.values import free_names, map_value, substitute_axes
from tilegen.dtypes import I64
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Axis, Binary, BinaryOp, Cast, IndexValue, Kernel, Reduce, Reduction, Value


def scan_nest(kernel: Kernel, constants: Mapping[str, int] | None = None, keep: Collection[str] = ()) -> Nest:
    """The nest of `kernel`, unit axes dropped and neighbouring ones merged but for the scanned one and those in `keep`.

    Raises SpecError: TG0701 (no prefix and no suffix of a row), TG0702, TG0703, TG0704.
    """
    values, lets, closed = closed_values(kernel, constants)
    first = kernel.assigns[0]
    require_shared_space(kernel, first)
    unifier = _Unifier(kernel)
    written = {number: unifier.unified(value) for number, value in closed.items()}
    named = tuple((name, unifier.unified(value)) for name, value in lets if unifier.fits(value))
    line = unifier.line
    assert line is not None
    space = tuple(_walked(kernel, a, line, written, values) if a.name == line.axis else a for a in first.axes)
    nest = nest_over(kernel, values, space, written, named, (line.axis,))
    if not line.forward:
        nest = mirror_axis(nest, line.axis)
    kept = {*keep, line.axis}
    return merge_axes(drop_unit_axes(nest, kept), kept)


@dataclass(frozen=True, slots=True)
class _Line:
    """The axis that scans run along, and whether from its start."""

    axis: str
    forward: bool

    def __str__(self) -> str:
        return f"along `{self.axis}` from the {'start' if self.forward else 'end'}"


class _Unifier:
    """Names the axis of every scan as the axis of the point it ends at; all of them must agree in it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.sizes = {s.name for s in kernel.sizes}
        self.axes = {a.name for s in kernel.assigns for a in s.axes}
        self.line: _Line | None = None

    def fits(self, value: Value) -> bool:
        """Whether a `let` may occur in a store as it stands: its scans follow axes of the stores."""
        return all(self._moving(r) <= self.axes for r in reductions_of([value]))

    def unified(self, value: Value) -> Value:
        return map_value(value, lambda leaf: leaf, self._scan)

    def _moving(self, node: Reduce) -> frozenset[str]:
        return frozenset(n for a in node.axes for e in (a.lower, a.upper) for n in symbols(e)) - self.sizes

    def _scan(self, node: Reduce) -> Value:
        line = self._line_of(node)
        if self.line is None:
            self.line = line
        elif line != self.line:
            raise _refused(
                node,
                f"`{node.op.value}` runs {line}, another scan of this kernel {self.line}",
                "one walk along a row has one direction",
                "write them as two kernels",
            )
        old = node.axes[0]
        body = substitute_axes(node.body, {old.name: sym(line.axis)}) if old.name != line.axis else node.body
        axis = replace(old, name=line.axis)
        return _as_carried(replace(node, axes=(axis,), body=self.unified(body)), line)

    def _line_of(self, node: Reduce) -> _Line:
        """Raises TG0701 for what is no prefix and no suffix."""
        word = node.op.value
        if not self._moving(node):
            raise _refused(
                node,
                f"`{word}` over a whole row beside a scan cannot be generated yet",
                "the scan needs the row once, the total of the row is known at its end",
                f"write the `{word}` to an output of a kernel of its own, and read it here",
            )
        if len(node.axes) != 1:
            raise _refused(
                node,
                f"`{word}` over {len(node.axes)} axes, one of which ends at the point, cannot be generated yet",
                "a scan runs along one axis",
                "scan along one axis to an output, and along the other one in a second kernel",
            )
        axis = node.axes[0]
        low, high = symbols(axis.lower) - self.sizes, symbols(axis.upper) - self.sizes
        if low and high:
            raise self._no_prefix(node, "both ends of its range move with the point: it is a window")
        forward = bool(high)
        moving = axis.upper if forward else axis.lower
        if len(low | high) != 1:
            raise self._no_prefix(node, f"its range ends at {moving}, which follows several axes")
        (name,) = low | high
        past = (moving - sym(name)).constant
        if past not in (0, 1) or name not in self.axes:
            raise self._no_prefix(node, f"its range {'ends before' if forward else 'starts at'} {moving}")
        if name in free_names(node.body):
            raise _refused(
                node,
                f"`{word}` of terms that depend on `{name}` cannot be generated yet",
                f"its range ends at `{name}`, and its terms change with `{name}` too: they are others for every point",
                "take what depends on the point out of the sum where that is the same, as in "
                "`w[j] * sum[k in 0..=j](x[k])`",
            )
        return _Line(name, forward)

    def _no_prefix(self, node: Reduce, fact: str) -> SpecError:
        return _refused(
            node,
            f"`{node.op.value}` over a range that is no prefix and no suffix cannot be generated yet",
            f"{fact}; a prefix is `0..=j` or `0..j`, a suffix `j..N` or `j + 1..N`",
            "write a prefix to an output, and take differences of it in a second kernel"
            if node.op in (Reduction.SUM, Reduction.COUNT, Reduction.MEAN)
            else "write out the terms of the window, as in `maximum(x[j - 1], x[j])`",
        )


def _refused(node: Reduce, message: str, fact: str, action: str) -> SpecError:
    plain = not_yet(message, node.span, action)
    return SpecError([Diagnostic(plain.code, message, node.span, notes=(fact,), helps=(action,))])


def is_inclusive(node: Reduce) -> bool:
    """Whether a unified scan has the term of its own point."""
    (axis,) = node.axes
    return axis.upper == sym(axis.name) + 1 or axis.lower == sym(axis.name)


def _as_carried(node: Reduce, line: _Line) -> Value:
    """`mean` as a sum over the number of its terms, `count` as a sum of ones."""
    if node.op is Reduction.COUNT:
        return replace(node, op=Reduction.SUM, body=Cast(node.body, node.dtype))
    if node.op is not Reduction.MEAN:
        return node
    (axis,) = node.axes
    terms = Cast(IndexValue(axis.upper - axis.lower, I64), node.dtype)
    return Binary(BinaryOp.DIVIDE, replace(node, op=Reduction.SUM), terms, node.dtype)


def _walked(
    kernel: Kernel, axis: Axis, line: _Line, written: Mapping[str, Value], values: Mapping[str, int]
) -> Axis:
    """The part of the axis that has to be walked: where something is stored, and where scans have terms before that."""
    ends = [axis.lower if line.forward else axis.upper]
    scans = reductions_of(written.values())
    ends += [s.axes[0].lower if line.forward else s.axes[0].upper for s in scans]
    for end in ends:
        if all(_reaches(end, other, line.forward, values) for other in ends):
            return replace(axis, lower=end) if line.forward else replace(axis, upper=end)
    raise _refused(
        scans[0],
        f"scans that start at {' and '.join(dict.fromkeys(map(str, ends)))} cannot be generated yet",
        "which of them comes first depends on the sizes",
        "start all of them where the first one starts, with `where` for the terms that do not count",
    )


def _reaches(end: Expr, other: Expr, forward: bool, values: Mapping[str, int]) -> bool:
    """Whether a walk from `end` comes past `other`."""
    way = substitute(other - end if forward else end - other, values)
    return bounds(way, {n: NON_NEGATIVE for n in symbols(way)}).low >= 0


def memory_address(access: Access, axis: str, width: int) -> Expr:
    """The address of an access that is walked against its order in memory as one that is walked along it: over items
    of `width` neighbours counted from the other end. Other addresses stay."""
    if coefficient(access, axis) != -ONE:
        return access.address
    return substitute(access.address, {axis: width - 1 - sym(axis)})


def fast_axis(nest: Nest) -> str | None:
    """The axis along which the elements of the first output, else of an input, lie side by side in either order."""
    accesses = [s.access for s in nest.stores] + list(nest.load_accesses())
    for access in accesses:
        for axis in nest.axes:
            if coefficient(access, axis.name) in (ONE, -ONE):
                return axis.name
    return None
