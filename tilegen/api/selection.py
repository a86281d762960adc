"""Which kernel, types and schedule of a file are meant. Names that do not exist are told with the nearest that do.

Imports nothing of NumPy or CUDA: `tilegen emit` uses it too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilegen.core.schedule.variants import expand
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.spec import Kernel, KernelFamily, ScheduleSpec, Spec

AUTO = "auto"


def problem(code: str, message: str, help: str) -> SpecError:
    """A request that cannot be honoured, as an exception with one diagnostic."""
    return SpecError([Diagnostic(code, message, None, helps=(help,))])


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """The help for a name that does not exist: the nearest that does, or all of them."""
    from difflib import get_close_matches

    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"{what}: {', '.join(f'`{n}`' for n in names)}" if names else f"{what}: none"


def find_family(spec: Spec, name: str | None) -> KernelFamily:
    """The kernel called `name`; without a name the only one. Raises SpecError TG0801, TG0802."""
    names = [family.name for family in spec.kernels]
    if name is None:
        if len(names) == 1:
            return spec.kernels[0]
        raise problem(
            "TG0802",
            f"{spec.source.name} has {len(names)} kernels: say which one",
            f"there are: {', '.join(f'`{n}`' for n in names)}",
        )
    for family in spec.kernels:
        if family.name == name:
            return family
    raise problem(
        "TG0801", f"{spec.source.name} has no kernel `{name}`", did_you_mean(name, names, "its kernels")
    )


def find_kernel(family: KernelFamily, types: Mapping[str, str]) -> Kernel:
    """The kernel for a choice of types; a parameter left out has its first choice. Raises SpecError TG0804."""
    return matching_kernels(family, types)[0]


def matching_kernels(family: KernelFamily, types: Mapping[str, str]) -> tuple[Kernel, ...]:
    """Every kernel of `family` with the `types` given, the default choices first. Raises SpecError TG0804."""
    known = {p.name: [str(c) for c in p.choices] for p in family.type_params}
    for name, wanted in types.items():
        if name not in known:
            raise problem(
                "TG0804",
                f"kernel `{family.name}` has no type parameter `{name}`",
                did_you_mean(name, known, "its type parameters"),
            )
        if str(wanted) not in known[name]:
            raise problem(
                "TG0804",
                f"`{name}` of kernel `{family.name}` cannot be `{wanted}`",
                f"its choices: {', '.join(f'`{c}`' for c in known[name])}",
            )
    return tuple(
        kernel
        for kernel in family.kernels
        if all(str(dict(kernel.types)[name]) == str(wanted) for name, wanted in types.items())
    )


def schedule_names(family: KernelFamily) -> tuple[str, ...]:
    """Schedules as declared, in order, and `auto`, which always exists."""
    declared = tuple(schedule.name for schedule in family.schedules)
    return declared if AUTO in declared else (*declared, AUTO)


def find_schedule(family: KernelFamily, name: str | None) -> ScheduleSpec | None:
    """The schedule called `name`, or one variant of a family (`padded[pad = 1]`); None stands for `auto`.

    Without a name it is the first one declared. Of a family named without its choices it is the first variant.
    Raises SpecError TG0803.
    """
    if name is None:
        return expand(family.schedules[0])[0] if family.schedules else None
    for schedule in family.schedules:
        if schedule.name == name:
            return expand(schedule)[0]
    if name == AUTO:
        return None
    stem = name.partition("[")[0]
    for schedule in family.schedules:
        if schedule.name == stem:
            variants = {_squeezed(v.name): v for v in expand(schedule)}
            if _squeezed(name) in variants:
                return variants[_squeezed(name)]
            raise problem(
                "TG0803",
                f"schedule `{stem}` has no variant `{name}`",
                did_you_mean(name, [v.name for v in variants.values()], "its variants"),
            )
    raise problem(
        "TG0803",
        f"kernel `{family.name}` has no schedule `{name}`",
        did_you_mean(name, schedule_names(family), "its schedules"),
    )


def all_schedules(family: KernelFamily, name: str | None = None) -> tuple[ScheduleSpec | None, ...]:
    """Every variant of every schedule (of the one called `name`), and `auto` (None) where no name is given."""
    if name is not None:
        for schedule in family.schedules:
            if schedule.name == name:
                return expand(schedule)
        return (find_schedule(family, name),)
    declared = tuple(v for s in family.schedules for v in expand(s))
    return declared if any(s.name == AUTO for s in family.schedules) else (*declared, None)


def find_constants(kernel: Kernel, values: Mapping[str, int]) -> dict[str, int]:
    """Values for compile-time sizes, checked. Raises SpecError TG0805."""
    known = {s.name: s for s in kernel.sizes}
    for name, value in values.items():
        size = known.get(name)
        if size is None:
            constants = [s.name for s in kernel.sizes if s.default is not None]
            raise problem(
                "TG0805",
                f"kernel `{kernel.name}` has no size `{name}`",
                did_you_mean(name, constants, "its compile-time sizes"),
            )
        if size.default is None:
            raise problem(
                "TG0805",
                f"`{name}` of kernel `{kernel.name}` is a size of the run, not of the compilation",
                f"declare it with a value, `{name} = {value}`, or leave it out",
            )
        _require_size(name, value)
    return dict(values)


def find_sizes(kernel: Kernel, values: Mapping[str, int]) -> dict[str, int]:
    """Sizes given by name, checked. Raises SpecError TG0805."""
    for name, value in values.items():
        if all(s.name != name for s in kernel.sizes):
            raise problem(
                "TG0805",
                f"kernel `{kernel.name}` has no size `{name}`",
                did_you_mean(name, [s.name for s in kernel.sizes], "its sizes"),
            )
        _require_size(name, value)
    return dict(values)


def _require_size(name: str, value: int) -> None:
    if not 0 <= value < 1 << 63:
        raise problem(
            "TG0805",
            f"the size `{name}` is {value}, and a size is 0 or more and fits in 64 bits",
            f"give another value for `{name}`",
        )


def _squeezed(name: str) -> str:
    return "".join(name.split())
