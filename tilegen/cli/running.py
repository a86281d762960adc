"""One kernel on arrays from `.npy` files: run, compared with the reference, written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from tilegen.api.bind import resolve
from tilegen.api.selection import did_you_mean, matching_kernels, problem
from tilegen.api.tensors import Form, Passed, spelled
from tilegen.cli.screen import Screen
from tilegen.dtypes import DType, Struct
from tilegen.errors import CallError
from tilegen.lang.diagnostics import Diagnostic, to_json
from tilegen.lang.spec import Kernel, KernelFamily, Role, ScheduleSpec, Tensor
from tilegen.numpy_types import Array, numpy_dtype
from tilegen.program import LaunchRefused, Program, build
from tilegen.reference import EvaluationError, expected
from tilegen.run.arrays import view
from tilegen.run.layout import through_memory
from tilegen.run.outcome import Run
from tilegen.target import Target
from tilegen.toolchain import default_target
from tilegen.verify import compare


def run_on_files(
    screen: Screen,
    family: KernelFamily,
    *,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    values: Mapping[str, str],
    schedule: ScheduleSpec | None,
    types: Mapping[str, str],
    on: str,
    target: Target | None,
) -> int:
    """Run `family` once. Returns the exit code: 1 where the result differs from the reference, and then writes nothing.

    Raises CallError and SpecError for arguments that do not fit, ToolchainMissing.
    """
    model = matching_kernels(family, types)[0]
    _require_outputs(model, outputs)
    sizes, scalars = _values(model, values)
    arrays = _load_all(model, inputs)
    passed = {
        name: Passed(model.tensor(name), Form.PLAIN, {name: view(array, name=name)}, array)
        for name, array in arrays.items()
    }
    kernel, found, numbers = resolve(family, types, passed, sizes, scalars)
    machine = target or default_target()
    constants = {s.name: found[s.name] for s in kernel.sizes if s.default is not None}
    program = build(kernel, schedule, machine, sizes=found if schedule is None else None, constants=constants)
    arrays = {n: through_memory(kernel.tensor(n), found, a) for n, a in arrays.items()}
    try:
        wanted = expected(kernel, found, arrays, numbers)
        run = _execute(program, found, arrays, numbers, on)
    except LaunchRefused as error:
        raise CallError(
            "TG0819", str(error), helps=("pass arrays and sizes that keep it, or choose another schedule",)
        ) from None
    except EvaluationError as error:
        raise CallError("TG0812", str(error), helps=("give other arrays or sizes",)) from None
    wrong = [*run.faults, *map(str, compare(program, run, wanted, arrays))]
    where = "the simulator" if on == "sim" else "the GPU"
    label = f"{kernel.name} under schedule {program.schedule.name} on {where} ({machine.name})"
    if wrong:
        screen.problems([_difference(label, wrong)])
        screen.document(
            1, **_facts(program, found, on, run), written={}, diagnostics=[to_json(_difference(label, wrong))]
        )
        return 1
    results = {name: _output(kernel.tensor(name), run.outputs[name]) for name in run.outputs}
    screen.say(f"{label}:")
    for name, array in (*arrays.items(), *results.items()):
        role = "in " if name in arrays and name not in results else "out"
        screen.say(f"  {role} {name}: {_kind(kernel.tensor(name))} {array.shape}")
    screen.say("  equals the NumPy reference" + _exactness(wanted))
    written = _write(results, outputs)
    for path in written.values():
        screen.say(f"wrote {path}")
    screen.document(0, **_facts(program, found, on, run), written=written, diagnostics=[])
    return 0


def _execute(
    program: Program,
    sizes: Mapping[str, int],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, Any],
    on: str,
) -> Run:
    if on == "gpu":
        from tilegen.run.gpu import launch_program

        return launch_program(program, sizes, arrays, scalars)
    from tilegen.run.simulated import simulate_program

    return simulate_program(program, sizes, arrays, scalars)


def _difference(label: str, wrong: list[str]) -> Diagnostic:
    return Diagnostic(
        "TG0905",
        f"{label}: the result differs from the NumPy reference",
        None,
        notes=tuple(line for text in wrong for line in text.splitlines()),
        helps=("this is a bug in tilegen: please report it with the spec and the arrays",),
    )


def _facts(program: Program, sizes: Mapping[str, int], on: str, run: Run) -> dict[str, Any]:
    return {
        "kernel": program.kernel.name,
        "types": {name: str(dtype) for name, dtype in program.kernel.types},
        "schedule": program.schedule.name,
        "sizes": dict(sizes),
        "on": on,
        "target": program.target.name,
        "launched": run.shape is not None,
    }


def _exactness(wanted: Mapping[str, Any]) -> str:
    exact = all(not np.any(_tolerance(one.tolerance)) for one in wanted.values())
    return ", bit for bit" if exact else ", within the rounding of its types"


def _tolerance(tolerance: Array) -> Array:
    if tolerance.dtype.names is None:
        return tolerance
    return np.concatenate([np.ravel(tolerance[name]) for name in tolerance.dtype.names])


def _kind(tensor: Tensor) -> str:
    return str(tensor.element)


# Arguments -------------------------------------------------------------------------------------------------------


def _require_outputs(kernel: Kernel, outputs: Mapping[str, str]) -> None:
    names = [t.name for t in kernel.tensors if t.role is not Role.IN]
    for name in outputs:
        if name not in names:
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' has no output '{name}'",
                helps=(did_you_mean(name, names, "its outputs"),),
            )


def _load_all(kernel: Kernel, inputs: Mapping[str, str]) -> dict[str, Array]:
    """Logical arrays by tensor, in the order of declaration. Raises CallError TG0810, SpecError TG0904."""
    tensors = {t.name: t for t in kernel.tensors if t.role is not Role.OUT}
    loaded: dict[str, dict[str | None, Array]] = {}
    for name, path in inputs.items():
        base, dot, field = name.partition(".")
        tensor = tensors.get(base)
        if tensor is None or (dot and not _has_field(tensor, field)):
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' has no input '{name}'",
                helps=(did_you_mean(name, _input_names(tensors.values()), "its inputs"),),
            )
        loaded.setdefault(base, {})[field if dot else None] = _load(path, tensor, field if dot else None)
    missing = [name for name in tensors if name not in loaded]
    if missing:
        raise CallError(
            "TG0810",
            f"kernel '{kernel.name}' needs {', '.join(f'`{m}`' for m in missing)}",
            helps=(f"pass `--input {missing[0]}={missing[0]}.npy`",),
        )
    return {name: _assemble(tensors[name], loaded[name]) for name in tensors}


def _input_names(tensors: Any) -> list[str]:
    names = []
    for tensor in tensors:
        names.append(tensor.name)
        if isinstance(tensor.element, Struct):
            names += [f"{tensor.name}.{f.name}" for f in tensor.element.fields]
    return names


def _has_field(tensor: Tensor, field: str) -> bool:
    return isinstance(tensor.element, Struct) and tensor.element.field(field) is not None


def _load(path: str, tensor: Tensor, field: str | None) -> Array:
    label = tensor.name if field is None else f"{tensor.name}.{field}"
    try:
        with open(path, "rb") as file:
            first = file.read(6)
            file.seek(0)
            array = np.load(file, allow_pickle=False) if first == b"\x93NUMPY" else None
    except OSError as error:
        raise problem(
            "TG0904",
            f"cannot read {path} for `{label}`: {error.strerror or error}",
            "give the path of a .npy file",
        ) from error
    except (ValueError, EOFError, SyntaxError, MemoryError, OverflowError, UnicodeError) as error:
        text = "it holds Python objects" if "pickle" in str(error) else "it is damaged"
        raise problem(
            "TG0904", f"cannot read {path} for `{label}`: {text}", "write it with `numpy.save`"
        ) from error
    if array is None:
        what = "it is an archive (.npz)" if first.startswith(b"PK") else "it is no .npy file"
        raise problem(
            "TG0904", f"cannot read {path} for `{label}`: {what}", "write one array with `numpy.save`"
        )
    element = tensor.element if field is None else _member(tensor, field)
    if isinstance(element, DType) and array.dtype.kind == "V" and array.dtype.names is None:
        # numpy.save knows no bf16 or f8, and writes their bits as nameless bytes.
        wanted = numpy_dtype(element)
        if array.dtype.itemsize == wanted.itemsize:
            array = array.view(wanted)
    native: Array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return native


def _member(tensor: Tensor, field: str) -> DType:
    assert isinstance(tensor.element, Struct)
    return next(f.dtype for f in tensor.element.fields if f.name == field)


def _assemble(tensor: Tensor, parts: Mapping[str | None, Array]) -> Array:
    """One logical array from a file, or from one file per field."""
    if None in parts and len(parts) == 1:
        array = parts[None]
        element = tensor.element
        if isinstance(element, Struct) and array.dtype.names is None and array.ndim:
            return _from_last_axis(tensor, element, array)
        if isinstance(element, Struct) and array.dtype.names == tuple(f.name for f in element.fields):
            return array.astype(numpy_dtype(element), copy=False) if _same_members(array, element) else array
        return np.ascontiguousarray(array) if array.ndim else array
    element = tensor.element
    assert isinstance(element, Struct)
    missing = [f.name for f in element.fields if f.name not in parts]
    if missing or None in parts:
        raise CallError(
            "TG0810",
            f"`{tensor.name}` is given by its fields, and {', '.join(f'`{m}`' for m in missing) or 'also whole'}"
            f"{' is missing' if missing else ''}",
            helps=(
                f"give each field once: {', '.join(f'`{tensor.name}.{f.name}=…`' for f in element.fields)}",
            ),
        )
    shapes = {array.shape for array in parts.values()}
    if len(shapes) > 1:
        raise CallError(
            "TG0812",
            f"the fields of `{tensor.name}` have different shapes: {sorted(shapes)}",
            helps=("give arrays of one shape",),
        )
    whole = np.empty(shapes.pop(), numpy_dtype(element))
    for f in element.fields:
        array = parts[f.name]
        if array.dtype != numpy_dtype(f.dtype):
            raise CallError(
                "TG0811",
                f"`{tensor.name}.{f.name}` holds {array.dtype}; the kernel takes {f.dtype}",
                helps=(f"save it as {f.dtype}: `.astype({spelled(f.dtype)})`",),
            )
        whole[f.name] = array
    return whole


def _same_members(array: Array, element: Struct) -> bool:
    return all(array.dtype[f.name] == numpy_dtype(f.dtype) for f in element.fields)


def _from_last_axis(tensor: Tensor, element: Struct, array: Array) -> Array:
    kinds = {f.dtype for f in element.fields}
    if (
        len(kinds) > 1
        or array.shape[-1] != len(element.fields)
        or array.dtype != numpy_dtype(next(iter(kinds)))
    ):
        raise CallError(
            "TG0820",
            f"`{tensor.name}` takes {element}, and its file holds {array.dtype} of shape {array.shape}",
            helps=("save a structured array, or one file per field: `--input NAME.FIELD=…`",),
        )
    whole = np.empty(array.shape[:-1], numpy_dtype(element))
    for number, f in enumerate(element.fields):
        whole[f.name] = array[..., number]
    return whole


def _values(kernel: Kernel, values: Mapping[str, str]) -> tuple[dict[str, int], dict[str, Any]]:
    """`--set` as sizes and scalars. Raises CallError TG0810, click.BadParameter."""
    size_names = [s.name for s in kernel.sizes]
    scalar_names = [s.name for s in kernel.scalars]
    sizes: dict[str, int] = {}
    scalars: dict[str, Any] = {}
    for name, text in values.items():
        if name not in size_names and name not in scalar_names:
            known = [*size_names, *scalar_names]
            raise CallError(
                "TG0810",
                f"kernel '{kernel.name}' has no size or scalar '{name}'",
                helps=(did_you_mean(name, known, "its sizes and scalars"),),
            )
        number = _number(name, text)
        if name in size_names:
            if not isinstance(number, int):
                raise click.BadParameter(
                    f"`{name}` is a size, and '{text}' is no integer", param_hint="'--set'"
                )
            sizes[name] = number
        else:
            scalars[name] = number
    return sizes, scalars


def _number(name: str, text: str) -> int | float | complex | bool:
    if text in ("true", "True", "false", "False"):
        return text in ("true", "True")
    for read in (lambda t: int(t, 0), float, complex):
        try:
            return read(text)
        except ValueError:
            continue
    raise click.BadParameter(f"`{name}` is '{text}', which is no number", param_hint="'--set'")


# Results ---------------------------------------------------------------------------------------------------------


def _output(tensor: Tensor, array: Array) -> Array:
    return np.asarray(array, numpy_dtype(tensor.element))


def _write(results: Mapping[str, Array], outputs: Mapping[str, str]) -> dict[str, str]:
    """Write outputs to the files named, each whole or not at all. Raises SpecError TG0902."""
    written = {}
    for name, path in outputs.items():
        place = Path(path)
        temporary = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            with open(temporary, "xb") as file:
                np.save(file, results[name], allow_pickle=False)
            os.replace(temporary, place)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise problem(
                "TG0902", f"cannot write {path}: {error.strerror or error}", "give another path"
            ) from error
        written[name] = path
    return written
