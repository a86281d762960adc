"""The arguments of a call, checked: which kernel they choose, its sizes and scalars, and where every array lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilegen.algebra import evaluate
from tilegen.api.outputs import allocate
from tilegen.api.scalars import Number, scalar_values
from tilegen.api.selection import did_you_mean, matching_kernels
from tilegen.api.tensors import Passed, conversion, element_of, label, read, require_layout, spelled
from tilegen.dtypes import Struct
from tilegen.errors import CallError, CallTypeError, coded
from tilegen.lang.check import call_problems
from tilegen.lang.diagnostics import told
from tilegen.lang.spec import Kernel, KernelFamily, Role, Tensor
from tilegen.reference import SizeError, infer_sizes
from tilegen.run.arguments import check_element, check_no_overlap, check_one_device, check_writable
from tilegen.run.arrays import ArrayKind, ArrayView
from tilegen.run.layout import DeviceLayout, layout


@dataclass(frozen=True, slots=True)
class Call:
    """A call that can be made. `sizes`: all of them; `constants`: compile-time ones that differ from their defaults.

    `given`: tensors whose array the caller passed (the others were allocated). `empty`: nothing to compute.
    """

    kernel: Kernel
    sizes: Mapping[str, int]
    constants: Mapping[str, int]
    scalars: Mapping[str, Number]
    passed: Mapping[str, Passed]
    given: frozenset[str]
    layouts: Mapping[str, DeviceLayout]
    device: int | None

    @property
    def written(self) -> tuple[Passed, ...]:
        return tuple(self.passed[t.name] for t in self.kernel.tensors if t.role is not Role.IN)

    @property
    def views(self) -> dict[str, ArrayView]:
        """By pointer name."""
        return {pointer: array for p in self.passed.values() for pointer, array in p.views.items()}

    def result(self) -> Any:
        """What the call returns: the one output, or all by name."""
        outputs = {p.tensor.name: p.value for p in self.written}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs


def bind(
    family: KernelFamily,
    types: Mapping[str, str],
    positional: Sequence[Any],
    named: Mapping[str, Any],
    out: Any,
) -> Call:
    """Check the arguments of a call and allocate the outputs that are missing.

    Raises CallError (an ArgumentError), one per mistake; SpecError for types that do not exist.
    """
    model = family.kernels[0]
    arrays, sizes, numbers = _by_name(model, positional, named, out)
    passed = {t.name: read(t, arrays[t.name]) for t in model.tensors if t.name in arrays}
    kernel, found, scalars = resolve(family, types, passed, sizes, numbers)
    constants = {
        s.name: found[s.name] for s in kernel.sizes if s.default is not None and s.default != found[s.name]
    }
    layouts, complete = {}, dict(passed)
    first = next(iter(passed.values())).first if passed else None
    for tensor in kernel.tensors:
        given = passed.get(tensor.name)
        extents = tuple(int(evaluate(e, found)) for e in tensor.extents)
        _require_blocks(given, extents)
        placed = layout(
            tensor, found, strides=given.element_strides(extents) if given else _dense(tensor, extents)
        )
        layouts[tensor.name] = placed
        if given is None:
            complete[tensor.name] = allocate(
                kernel, placed, first.kind if first else ArrayKind.NUMPY, first.device if first else None
            )
        else:
            require_layout(given, extents, placed.strides)
    call = Call(
        kernel,
        found,
        constants,
        scalars,
        complete,
        frozenset(passed),
        layouts,
        first.device if first else None,
    )
    _require_memory(call)
    return call


def resolve(
    family: KernelFamily,
    types: Mapping[str, str],
    passed: Mapping[str, Passed],
    sizes: Mapping[str, Any],
    numbers: Mapping[str, Any],
) -> tuple[Kernel, dict[str, int], dict[str, Number]]:
    """The kernel that the arrays' types choose, every size and every scalar. Raises CallError."""
    kernel = _choose(matching_kernels(family, types), passed)
    found = _sizes(kernel, passed, sizes)
    scalars = scalar_values(kernel, numbers)
    _require_legal(kernel, found, scalars)
    return kernel, found, scalars


def _by_name(
    kernel: Kernel, positional: Sequence[Any], named: Mapping[str, Any], out: Any
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Arrays, sizes and scalars by their names. Raises CallError TG0810."""
    inputs = [t.name for t in kernel.tensors if t.role is not Role.OUT]
    outputs = [t.name for t in kernel.tensors if t.role is not Role.IN]
    if len(positional) > len(inputs):
        raise CallError(
            "TG0810",
            f"kernel '{kernel.name}' takes {_count(len(inputs), 'input')} "
            f"({', '.join(inputs) or 'none'}), and {len(positional)} are passed",
            helps=("outputs go into `out=`, sizes and scalars are passed by name",),
        )
    arrays = dict(zip(inputs, positional, strict=False))
    sizes: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    size_names, scalar_names = [s.name for s in kernel.sizes], [s.name for s in kernel.scalars]
    for name, value in named.items():
        if name in arrays:
            raise CallError(
                "TG0810",
                f"argument '{name}' is passed twice, by position and by name",
                helps=("pass it once",),
            )
        if name in inputs:
            arrays[name] = value
        elif name in size_names:
            sizes[name] = value
        elif name in scalar_names:
            numbers[name] = value
        elif name in outputs:
            raise CallError("TG0810", f"'{name}' is an output", helps=(f"pass it as `out={{'{name}': …}}`",))
        else:
            known = [*inputs, *size_names, *scalar_names]
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' has no argument '{name}'",
                helps=(did_you_mean(name, known, "its arguments"),),
            )
    missing = [name for name in inputs if name not in arrays]
    if missing:
        raise CallError(
            "TG0810",
            f"kernel '{kernel.name}' needs {', '.join(f'`{m}`' for m in missing)}",
            notes=(f"its inputs, in order: {', '.join(inputs)}",),
            helps=(f"pass {'it' if len(missing) == 1 else 'them'} in this order, or by name",),
        )
    for name, value in _outputs(kernel, outputs, out).items():
        if name in arrays and arrays[name] is not value:
            raise CallError(
                "TG0810", f"'{name}' is `inout` and passed twice", helps=("pass it once, with the inputs",)
            )
        arrays[name] = value
    return arrays, sizes, numbers


def _outputs(kernel: Kernel, outputs: list[str], out: Any) -> dict[str, Any]:
    """`out` by the names of outputs; one array stands for the only output."""
    if out is None:
        return {}
    if isinstance(out, Mapping) and all(name in outputs for name in out):
        return {name: value for name, value in out.items() if value is not None}
    if len(outputs) == 1:
        tensor = kernel.tensor(outputs[0])
        if isinstance(out, Mapping) and not isinstance(tensor.element, Struct):
            unknown = next(str(name) for name in out if name not in outputs)
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' has no output '{unknown}'",
                helps=(f"its output is `{outputs[0]}`",),
            )
        return {outputs[0]: out}
    if isinstance(out, Mapping):
        unknown = next(str(name) for name in out if name not in outputs)
        raise CallError(
            "TG0810",
            f"kernel '{kernel.name}' has no output '{unknown}'",
            helps=(did_you_mean(unknown, outputs, "its outputs"),),
        )
    raise CallError(
        "TG0810",
        f"kernel '{kernel.name}' has {len(outputs)} outputs, and `out` is one array",
        helps=(f"pass a dictionary: `out={{{', '.join(f'{n!r}: …' for n in outputs)}}}`",),
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _choose(kernels: Sequence[Kernel], passed: Mapping[str, Passed]) -> Kernel:
    """The first kernel whose element types are those of the arrays. Raises CallTypeError TG0811."""
    best: tuple[int, Kernel] | None = None
    for kernel in kernels:
        wrong = [p for p in passed.values() if not _fits(kernel, p)]
        if not wrong:
            return kernel
        if best is None or len(wrong) < best[0]:
            best = len(wrong), kernel
    assert best is not None
    kernel = best[1]
    offer = [", ".join(f"{name} = {dtype}" for name, dtype in k.types) for k in kernels if k.types]
    for one in passed.values():
        if _fits(kernel, one):
            continue
        declared = _declared_for(kernel, one)
        for pointer, array in one.views.items():
            with coded("TG0811", *_type_helps(one, declared, offer)):
                check_element(label(one, pointer), array, element_of(declared, pointer))
    raise CallTypeError(
        "TG0811",
        f"the arrays have types that no choice of kernel '{kernel.name}' takes",
        helps=(f"the kernel exists for {'; '.join(offer) or 'its declared types'}",),
    )


def _declared_for(kernel: Kernel, passed: Passed) -> Passed:
    return Passed(kernel.tensor(passed.tensor.name), passed.form, passed.views, passed.value)


def _fits(kernel: Kernel, passed: Passed) -> bool:
    declared = _declared_for(kernel, passed)
    return all(array.element == element_of(declared, pointer) for pointer, array in passed.views.items())


def _type_helps(passed: Passed, declared: Passed, offer: list[str]) -> tuple[str, ...]:
    if isinstance(passed.tensor.element, Struct):
        return (f"make the array with this dtype: `{spelled(declared.tensor.element)}`",)
    if offer:
        return (f"the kernel exists for {'; '.join(offer)}",)
    return (f"{conversion(passed.value, declared.tensor)}, or declare the tensor with another type",)


def _sizes(kernel: Kernel, passed: Mapping[str, Passed], given: Mapping[str, Any]) -> dict[str, int]:
    """Every size. Raises CallError TG0812."""
    sizes = {}
    for name, value in given.items():
        sizes[name] = _integer(name, value)
    shapes = {}
    for name, one in passed.items():
        shape = one.shape
        if shape is not None:
            shapes[name] = shape
    try:
        return infer_sizes(kernel, shapes, sizes)
    except SizeError as error:
        raise CallError("TG0812", str(error), helps=(_shapes_help(kernel, str(error)),)) from None


def _shapes_help(kernel: Kernel, message: str) -> str:
    """The declared shapes, in which every size is to be found."""
    if "by name" in message:
        return "pass the size by name, as in `N=64`"
    declared = (f"{t.name}: [{', '.join(map(str, t.extents))}]" for t in kernel.tensors)
    return f"pass arrays of the declared shapes: {', '.join(declared)}"


def _integer(name: str, value: Any) -> int:
    from operator import index

    try:
        number = index(value)
    except TypeError:
        raise CallTypeError(
            "TG0812",
            f"the size `{name}` is {value!r}, and a size is an integer",
            helps=(f"pass an integer: `{name}=int(…)`",),
        ) from None
    if not 0 <= number < 1 << 63:
        raise CallError(
            "TG0812",
            f"the size `{name}` is {number}, and a size is 0 or more and fits in 64 bits",
            helps=(f"pass another `{name}`",),
        )
    return number


def _require_legal(kernel: Kernel, sizes: Mapping[str, int], scalars: Mapping[str, Number]) -> None:
    """What only sizes can decide: bounds, bindings, reductions over nothing. Raises CallError with the check's code."""
    integers = {n: int(v) for n, v in scalars.items() if isinstance(v, int)}
    problems = [told(p) for p in call_problems(kernel, {**sizes, **integers})]
    if problems:
        first = problems[0]
        more = tuple(p.message for p in problems[1:])
        where = (
            (f"line {first.span.line} of {first.span.source.name}: {first.span.text}",) if first.span else ()
        )
        raise CallError(first.code, first.message, notes=(*first.notes, *where, *more), helps=first.helps)


def _require_blocks(passed: Passed | None, extents: tuple[int, ...]) -> None:
    """Blocks of `aosoa` hold the last axis. Raises CallError TG0812."""
    if passed is None or passed.shape is not None:
        return
    block = passed.first.shape[-1]
    wanted = (*extents[:-1], -(-extents[-1] // block))
    if passed.first.shape[:-2] != wanted:
        raise CallError(
            "TG0812",
            f"argument '{passed.tensor.name}' has shape {passed.first.shape}; "
            f"the extents {extents} in blocks of {block} take {(*wanted, *passed.first.shape[-2:])}",
            helps=(f"pass an array of shape {(*wanted, *passed.first.shape[-2:])}, or other sizes",),
        )


def _dense(tensor: Tensor, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Strides for an array that tilegen allocates, where the spec leaves them open."""
    strides, step = [0] * len(extents), 1
    for axis in reversed(range(len(extents))):
        strides[axis] = step
        step *= max(1, extents[axis])
    return tuple(strides)


def _require_memory(call: Call) -> None:
    """Where the arrays are, and which of them may share memory. Raises CallError TG0815, TG0816, TG0817."""
    views = {label(p, pointer): array for p in call.passed.values() for pointer, array in p.views.items()}
    with coded(
        "TG0815", "move the arrays to one place before the call: `cupy.asarray(…)`, `.cpu()`, `.cuda()`"
    ):
        check_one_device(views)
    written: dict[str, ArrayView] = {}
    for one in call.written:
        for pointer, array in one.views.items():
            name = label(one, pointer)
            written[name] = array
            if one.tensor.name in call.given:
                with coded("TG0816", "pass an array of its own for the output"):
                    check_writable(name, array)
                _require_apart(name, array)
    with coded("TG0817", "pass another array, or declare the tensor `inout`"):
        check_no_overlap(written, views)


def _require_apart(name: str, array: ArrayView) -> None:
    """No two elements of a written array share memory, as far as its strides tell."""
    if array.size == 0:
        return
    reach = array.itemsize
    for stride, extent in sorted(
        (abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1
    ):
        if stride < reach:
            raise CallError(
                "TG0816",
                f"argument '{name}' is written by the kernel, and elements of it may share memory",
                notes=(f"its strides are {array.strides} in bytes",),
                helps=("pass an array of its own for the output",),
            )
        reach = stride * (extent - 1) + reach
