"""What a kernel means: its outputs, from its inputs, with NumPy and in double precision.

Independent of plans and generated code on purpose. Not specified by the language, and so given an infinite tolerance:
float results on the verge of overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilegen.algebra import Expr
from tilegen.dtypes import BOOL, DType, Kind, Struct
from tilegen.lang.spec import (
    Assign,
    Binary,
    Call,
    Cast,
    IndexValue,
    Kernel,
    Let,
    Literal,
    LocalRead,
    Read,
    Reduce,
    Reduction,
    Role,
    ScalarRead,
    Tensor,
    Unary,
    Value,
    Where,
)
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.reference.access import Readable, read
from tilegen.reference.arithmetic import binary, convert, unary, widen
from tilegen.reference.frame import Frame
from tilegen.reference.functions import call
from tilegen.reference.number import Number, exact, round_to
from tilegen.reference.reduce import reduce
from tilegen.reference.reductions import Depth
from tilegen.reference.sizes import check_arrays
from tilegen.reference.store import store
from tilegen.reference.uses import moves

PythonNumber = int | float | complex | bool


def serial(count: Array) -> Array:
    """Roundings per term when one thread adds all terms in turn: the worst case of any order."""
    return np.asarray(np.maximum(count - 1, 0))


def evaluate(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, PythonNumber] | None = None,
) -> dict[str, Array]:
    """The outputs of `kernel` as logical arrays: shape = extents, whatever the layout.

    `arrays`: every `in` and `inout` tensor, and for an `out` tensor its previous content where some elements are not
    written. Pure movement and integers come back in the tensor's own dtype, exact; float arithmetic as float64 (or
    complex128) before the rounding that the store does. Raises a EvaluationError (a ValueError) where the kernel has
    no value.
    """
    outputs = evaluate_with_errors(kernel, sizes, arrays, scalars, track=False)
    return {name: output.value for name, output in outputs.items()}


@dataclass(frozen=True, slots=True)
class Output:
    """`error`: bound per element on |device before its last rounding − value|; zeros where nothing rounds.

    A struct's value and error are structured arrays of its members. `written`: which elements the kernel assigns.
    `moved`: whether nothing but movement makes it; for a struct, the names of such members.
    """

    value: Array
    error: Array
    written: Array
    moved: bool | frozenset[str]


def evaluate_with_errors(
    kernel: Kernel,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, PythonNumber] | None = None,
    *,
    track: bool = True,
    depth: Depth = serial,
) -> dict[str, Output]:
    """`evaluate`, with error bounds. `depth`: roundings per term of a sum of n terms."""
    with np.errstate(all="ignore"):
        return _Evaluator(kernel, sizes, arrays, scalars or {}, track, depth).run()


class _Evaluator:
    def __init__(
        self,
        kernel: Kernel,
        sizes: Mapping[str, int],
        arrays: Mapping[str, Array],
        scalars: Mapping[str, PythonNumber],
        track: bool,
        depth: Depth,
    ) -> None:
        self._kernel = kernel
        self._sizes = {s.name: s.default for s in kernel.sizes if s.default is not None} | dict(sizes)
        self._arrays = {name: np.asarray(array) for name, array in arrays.items()}
        self._scalars = {s.name: scalars.get(s.name, s.default) for s in kernel.scalars}
        # What index expressions are made of, axes apart.
        self._known = self._sizes | {
            s.name: int(_constant(self._scalar(s.name), s.dtype))
            for s in kernel.scalars
            if s.dtype.is_integer
        }
        self._track, self._depth = track, depth
        self._tensors = {t.name: t for t in kernel.tensors}
        self._lets: dict[str, tuple[Number, Array | None, tuple[int, ...]]] = {}
        check_arrays(kernel, self._sizes, self._arrays)

    def run(self) -> dict[str, Output]:
        outputs = {t.name: self._blank(t) for t in self._kernel.tensors if t.role is not Role.IN}
        for statement in self._kernel.statements:
            match statement:
                case Let():
                    self._define(statement)
                case Assign():
                    self._assign(statement, outputs[statement.tensor])
        return outputs

    def _frame(self, statement: Let | Assign) -> Frame:
        """The statement's axes, the last one as the last dimension."""
        frame = Frame.of_sizes(self._known)
        for axis in reversed(statement.axes):
            frame = frame.with_axis(axis.name, frame.constant(axis.lower), frame.constant(axis.upper))
        return frame

    def _blank(self, tensor: Tensor) -> Output:
        """The content before the launch, zero where it is not given, in the dtype the result needs."""
        shape = tuple(int(Frame.of_sizes(self._sizes).constant(e)) for e in tensor.extents)
        assigns = [a for a in self._kernel.assigns if a.tensor == tensor.name]
        computed = {a.field for a in assigns if not moves(a.value, self._kernel)}
        dtypes = {a.field: _result_dtype(a, a.field not in computed) for a in assigns}
        previous = self._arrays.get(tensor.name)
        if not isinstance(tensor.element, Struct):
            dtype = dtypes.get(None, numpy_dtype(tensor.element))
            value = np.zeros(shape, dtype) if previous is None else previous.astype(dtype)
            return Output(value, np.zeros(shape), np.zeros(shape, np.bool_), None not in computed)
        names = [f.name for f in tensor.element.fields]
        members = [dtypes.get(f.name, numpy_dtype(f.dtype)) for f in tensor.element.fields]
        value = np.zeros(shape, np.dtype(list(zip(names, members, strict=True))))
        if previous is not None:
            for name in names:
                value[name] = previous[name]
        return Output(
            value,
            np.zeros(shape, np.dtype([(n, np.float64) for n in names])),
            np.zeros(shape, np.dtype([(n, np.bool_) for n in names])),
            frozenset(names) - computed,
        )

    def _define(self, let: Let) -> None:
        frame = self._frame(let)
        raw = None
        if moves(let.value, self._kernel):
            raw = self._raw(let.value, frame)
            number = Number(widen(raw, let.value.dtype))
            raw = np.broadcast_to(raw, frame.shape)
        else:
            number = self._number(let.value, frame)
        value = np.broadcast_to(number.value, frame.shape)
        error = None if number.error is None else np.broadcast_to(number.error, frame.shape)
        origin = tuple(frame.axes[a.name].lower for a in let.axes)
        self._lets[let.name] = Number(value, error), raw, origin

    def _assign(self, assign: Assign, output: Output) -> None:
        frame = self._frame(assign)
        tensor = self._tensors[assign.tensor]
        if moves(assign.value, self._kernel):
            number = Number(self._raw(assign.value, frame))
            if output.value.dtype.names is None and output.value.dtype != number.value.dtype:
                number = Number(widen(number.value, assign.value.dtype))
        else:
            number = self._number(_before_store(assign.value), frame)
        for target, value in (
            (output.value, number.value),
            (output.error, number.error_or_zero()),
            (output.written, np.asarray(True)),
        ):
            member = target if assign.field is None else target[assign.field]
            store(tensor.name, member, assign.indices, value, frame)

    # Movement: elements in their own dtype, to the bit ----------------------------------------------------------

    def _raw(self, value: Value, frame: Frame) -> Array:
        match value:
            case Literal():
                return _constant(value.value, value.dtype)
            case ScalarRead():
                return _constant(self._scalar(value.name), value.dtype)
            case IndexValue():
                return frame.index(value.index).astype(numpy_dtype(value.dtype))
            case Read():
                return self._read(value, frame)
            case LocalRead():
                _, raw, origin = self._lets[value.name]
                assert raw is not None, "a local that only moves data has been kept as it is"
                return read(Readable(value.name, raw, origin), value.indices, frame)
            case Where():
                condition = self._number(value.condition, frame).value
                then = self._raw(value.then, frame.where(condition))
                otherwise = self._raw(value.otherwise, frame.where(~condition))
                return np.where(condition, then, otherwise)
            case _:
                raise AssertionError(f"{type(value).__name__} is arithmetic")

    def _scalar(self, name: str) -> PythonNumber:
        value = self._scalars[name]
        if value is None:
            raise ValueError(f"scalar {name} has no default and is not given")
        return value

    def _read(self, node: Read, frame: Frame) -> Array:
        tensor = self._tensors[node.tensor]
        array = self._arrays[node.tensor]
        if node.field is not None:
            array = array[node.field]
        indices = tuple(
            index if isinstance(index, Expr) else self._number(index, frame).value for index in node.indices
        )
        source = Readable(tensor.name, array, (0,) * tensor.rank, tensor.boundary, tensor.boundary_value)
        result = read(source, indices, frame)
        # Any byte but 0 is true.
        return result.view(np.uint8) != 0 if node.dtype == BOOL else result

    # Arithmetic -------------------------------------------------------------------------------------------------

    def _number(self, value: Value, frame: Frame) -> Number:
        match value:
            case Literal() | ScalarRead() | IndexValue():
                return Number(widen(self._raw(value, frame), value.dtype))
            case Read():
                result = Number(widen(self._read(value, frame), value.dtype))
                return self._unsure_gather(value, result, frame)
            case LocalRead():
                return self._local(value, frame)
            case Unary():
                return unary(value.op, self._number(value.operand, frame))
            case Binary():
                left, right = self._number(value.left, frame), self._number(value.right, frame)
                return binary(value.op, left, right, value.left.dtype, self._track)
            case Where():
                return self._where(value, frame)
            case Cast():
                source = value.operand.dtype
                return convert(self._number(value.operand, frame), source, value.dtype, self._track)
            case Call():
                arguments = tuple(self._number(a, frame) for a in value.arguments)
                return call(value.function, arguments, value.arguments[0].dtype, value.dtype, self._track)
            case Reduce():
                return reduce(value, lambda f: self._term(value, f), frame, self._depth, self._track)

    def _term(self, node: Reduce, frame: Frame) -> Number:
        """The body of a reduction in the type it accumulates in."""
        term = self._number(node.body, frame)
        if node.op in (Reduction.ARGMAX, Reduction.ARGMIN, Reduction.ANY, Reduction.ALL):
            return term
        return convert(term, node.body.dtype, node.dtype, self._track)

    def _local(self, node: LocalRead, frame: Frame) -> Number:
        number, _, origin = self._lets[node.name]
        value = read(Readable(node.name, number.value, origin), node.indices, frame)
        if number.error is None:
            return Number(value)
        return Number(value, read(Readable(node.name, number.error, origin), node.indices, frame))

    def _where(self, node: Where, frame: Frame) -> Number:
        condition = self._number(node.condition, frame)
        c = condition.value
        then = self._number(node.then, frame.where(c))
        otherwise = self._number(node.otherwise, frame.where(~c))
        value = np.where(c, then.value, otherwise.value)
        if then.error is None and otherwise.error is None and condition.error is None:
            return Number(value)
        error = np.where(c, then.error_or_zero(), otherwise.error_or_zero())
        if condition.error is not None:
            # The device may take the other side.
            gap = np.abs(then.value.astype(np.complex128) - otherwise.value.astype(np.complex128))
            either = gap + np.maximum(then.error_or_zero(), otherwise.error_or_zero())
            error = np.where(condition.error > 0, either, error)
        return Number(value, exact(error))

    def _unsure_gather(self, node: Read, result: Number, frame: Frame) -> Number:
        if not self._track:
            return result
        for index in node.indices:
            error = None if isinstance(index, Expr) else self._number(index, frame).error
            if error is not None:
                return Number(result.value, np.where(error > 0, np.inf, 0.0))
        return result


def _result_dtype(assign: Assign, moved: bool) -> np.dtype[Any]:
    kind = assign.value.dtype.kind
    if moved or kind not in (Kind.FLOAT, Kind.COMPLEX):
        return numpy_dtype(assign.value.dtype)
    return np.dtype(np.float64 if kind is Kind.FLOAT else np.complex128)


def _constant(value: PythonNumber, dtype: DType) -> Array:
    """A literal or scalar as an element; integers wrap, floats round once."""
    if dtype.is_integer:
        return np.asarray(int(value.real) % (1 << 8 * dtype.size), np.uint64).astype(numpy_dtype(dtype))
    if dtype.kind is Kind.FLOAT:
        return round_to(np.asarray(float(value.real)), dtype).astype(numpy_dtype(dtype))
    return np.asarray(value).astype(numpy_dtype(dtype))


def _before_store(value: Value) -> Value:
    """Without the conversion by which a store rounds a float to its narrower type."""
    if not isinstance(value, Cast) or value.operand.dtype.kind is not value.dtype.kind:
        return value
    narrows = value.dtype.kind in (Kind.FLOAT, Kind.COMPLEX) and value.operand.dtype.size > value.dtype.size
    return value.operand if narrows else value
