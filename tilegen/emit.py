"""Files for other projects: one `.cu` and one `.h` per kernel, the same bytes on every machine; whole files or none,
inside the folder asked for."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilegen import __version__
from tilegen.api.selection import (
    AUTO,
    all_schedules,
    find_constants,
    find_kernel,
    find_schedule,
    find_sizes,
    problem,
)
from tilegen.core.schedule.directives import schedule_lines
from tilegen.cuda.names import identifier
from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.source import Source
from tilegen.lang.spec import Kernel, KernelFamily, ScheduleSpec, Spec
from tilegen.program import Program, build
from tilegen.render import render
from tilegen.target import Target

_LONGEST_STEM = 200


@dataclass(frozen=True, slots=True)
class EmitRequest:
    """One kernel to emit as `stem`.cu and `stem`.h; `schedule` None is `auto`."""

    stem: str
    kernel: Kernel
    schedule: ScheduleSpec | None


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of one kernel's two files."""

    stem: str
    kernel: str
    types: tuple[tuple[str, str], ...]
    schedule: str
    directives: str
    target: str
    source: str = field(repr=False)
    header: str = field(repr=False)


def requests(
    spec: Spec,
    families: Sequence[KernelFamily],
    *,
    schedule: str | None = None,
    types: Mapping[str, str] | None = None,
    everything: bool = False,
) -> tuple[EmitRequest, ...]:
    """What to emit for `families` of `spec`: one choice each, or with `everything` all types and all schedules.

    Stems differ even where case is ignored, and a kernel's stem does not depend on which kernels are asked for.
    Raises SpecError for a name that does not exist.
    """
    stems = _Stems(spec)
    found: list[EmitRequest] = []
    for family in families:
        if not everything:
            kernel = find_kernel(family, types or {})
            found.append(EmitRequest(stems.of(family, kernel), kernel, find_schedule(family, schedule)))
            continue
        first = find_schedule(family, None)
        for kernel in family.kernels:
            stem = stems.of(family, kernel)
            for choice in all_schedules(family, schedule):
                name = stem if choice == first else stems.claim(f"{stem}_{_label(choice)}")
                found.append(EmitRequest(name, kernel, choice))
    return tuple(found)


class _Stems:
    """Stems of one file's kernels, each given once."""

    def __init__(self, spec: Spec) -> None:
        self._taken: set[str] = set()
        self._of: dict[tuple[str, tuple[object, ...]], str] = {}
        for family in spec.kernels:
            self._of[family.name, family.kernels[0].types] = self.claim(identifier(family.name))
        for family in spec.kernels:
            for kernel in family.kernels[1:]:
                suffix = "_".join(str(dtype) for _, dtype in kernel.types)
                self._of[family.name, kernel.types] = self.claim(f"{identifier(family.name)}_{suffix}")

    def of(self, family: KernelFamily, kernel: Kernel) -> str:
        return self._of[family.name, kernel.types]

    def claim(self, wanted: str) -> str:
        """`wanted`, or with a number appended where another file has it; shortened where no file system takes it."""
        if len(wanted) > _LONGEST_STEM:
            digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
            wanted = f"{wanted[: _LONGEST_STEM - 9]}_{digest}"
        stem, number = wanted, 2
        while stem.lower() in self._taken:
            stem, number = f"{wanted}_{number}", number + 1
        self._taken.add(stem.lower())
        return stem


def _label(schedule: ScheduleSpec | None) -> str:
    name = AUTO if schedule is None else schedule.name
    words = "".join(c if c.isalnum() else " " for c in name).split()
    return "_".join(words)


def generate(
    spec: Spec,
    wanted: Iterable[EmitRequest],
    target: Target,
    *,
    constants: Mapping[str, int] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> tuple[Emitted, ...]:
    """The text of every request. Raises SpecError with the problems of all of them."""
    problems: list[Diagnostic] = []
    emitted: list[Emitted] = []
    for request in wanted:
        try:
            emitted.append(_generate(spec, request, target, constants or {}, sizes or {}))
        except SpecError as error:
            problems += [d for d in error.diagnostics if d not in problems]
    if problems:
        raise SpecError(problems)
    return tuple(emitted)


def _generate(
    spec: Spec, request: EmitRequest, target: Target, constants: Mapping[str, int], sizes: Mapping[str, int]
) -> Emitted:
    kernel = request.kernel
    constants, sizes = find_constants(kernel, constants), find_sizes(kernel, sizes)
    program = build(
        kernel, request.schedule, target, sizes=sizes or None, constants=constants or None, name=request.stem
    )
    # The lines at the top tell the directives, which are known only now.
    rendered = render(program.plans, request.stem, provenance(spec.source, program, constants, sizes))
    return Emitted(
        stem=request.stem,
        kernel=kernel.name,
        types=tuple((name, str(dtype)) for name, dtype in kernel.types),
        schedule=program.schedule.name,
        directives="; ".join(schedule_lines(program.schedules)),
        target=target.name,
        source=rendered.source,
        header=rendered.header,
    )


# Where a file comes from

MARK = "Generated by tilegen"


def provenance(
    source: Source, program: Program, constants: Mapping[str, int], sizes: Mapping[str, int]
) -> tuple[str, ...]:
    """ASCII lines: version, spec (name and hash of its text), kernel, types, schedule with its directives, target."""
    kernel, schedule = program.kernel, program.schedule
    digest = hashlib.sha256(source.text.encode("utf-8", "surrogatepass")).hexdigest()
    types = "".join(f", {name} = {dtype}" for name, dtype in kernel.types)
    fixed = "".join(f", {name} = {value}" for name, value in constants.items())
    first, *rest = schedule_lines(program.schedules)
    lines = [
        f"{MARK} {__version__} from {ascii_text(file_name(source.name))}; change the spec, not this file.",
        f"Spec sha256 {digest}.",
        f"Kernel {kernel.name}{types}{fixed}; target {program.target.name}.",
        f"Schedule {ascii_text(schedule.name)}: {first or 'one point per thread'}{';' if rest else '.'}",
        *(f"{line}{'.' if line is rest[-1] else ';'}" for line in rest),
    ]
    if sizes:
        at = ", ".join(f"{name} = {value}" for name, value in sizes.items())
        lines.append(f"Chosen for {at}; right for all sizes.")
    return tuple(lines)


def file_name(name: str) -> str:
    """The last part of a path, so that no folder of this machine is told."""
    return name.replace("\\", "/").rpartition("/")[2] or "text"


def ascii_text(text: str) -> str:
    """`text` in printable ASCII; the rest is escaped. Never ends with what continues a C++ comment."""
    return "".join(
        c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


# On disk


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """`unchanged`: the file had these bytes already and was left alone, so that no build starts again for it."""

    path: Path
    unchanged: bool


def write(emitted: Iterable[Emitted], directory: Path) -> tuple[WrittenFile, ...]:
    """Write `stem`.cu and `stem`.h of each into `directory`, which is made where it does not exist.

    A file that tilegen did not write is never replaced. Raises SpecError TG0902, TG0903; then nothing was written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problem(
            "TG0902",
            f"cannot make the folder {directory}: {error.strerror or error}",
            "give another folder with `-o`",
        ) from error
    files: list[tuple[Path, bytes]] = []
    for one in emitted:
        for suffix, text in ((".cu", one.source), (".h", one.header)):
            files.append((directory / f"{one.stem}{suffix}", text.encode("ascii", "backslashreplace")))
    _require_own([path for path, _ in files])
    result = [WrittenFile(path, _content(path) == content) for path, content in files]
    _replace([pair for pair, one in zip(files, result, strict=True) if not one.unchanged])
    return tuple(result)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _require_own(paths: Iterable[Path]) -> None:
    for path in paths:
        if not os.path.lexists(path):
            continue
        first = (_content(path) or b"").partition(b"\n")[0]
        if MARK.encode() not in first:
            raise problem(
                "TG0903",
                f"{path} exists, and tilegen did not write it",
                "move it away, or give another folder with `-o`",
            )


def _replace(files: list[tuple[Path, bytes]]) -> None:
    temporary = {path: path.with_name(f".{path.name}.{os.getpid()}") for path, _ in files}
    try:
        for path, content in files:
            with open(temporary[path], "xb") as file:
                file.write(content)
        for path, _ in files:
            os.replace(temporary[path], path)
    except OSError as error:
        raise problem(
            "TG0902",
            f"cannot write {error.filename or files[0][0]}: {error.strerror or error}",
            "give another folder with `-o`",
        ) from error
    finally:
        for place in temporary.values():
            with contextlib.suppress(OSError):
                place.unlink()
