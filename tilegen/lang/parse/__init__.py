"""Text to syntax nodes: `read_source` decodes a file, `parse` builds the nodes of `syntax.py` or raises `SpecError`."""

from __future__ import annotations

from tilegen.lang.diagnostics import Diagnostic, SpecError
from tilegen.lang.parse.build import Builder
from tilegen.lang.parse.depth import check_depth
from tilegen.lang.parse.machine import Machine
from tilegen.lang.parse.reader import check_size, read_source, source_from_text
from tilegen.lang.parse.scanner import scan
from tilegen.lang.parse.table import load_table
from tilegen.lang.source import Source
from tilegen.lang.syntax import File

__all__ = ["parse", "read_source", "source_from_text"]


def parse(source: Source) -> File:
    """The kernels of `source` as written. Raises `SpecError` with every problem found, in the order of the text."""
    if oversized := check_size(source):
        raise SpecError([oversized])
    table = load_table()
    scanned = scan(source, table)
    problems = list(scanned.diagnostics)
    if scanned.tokens:
        machine = Machine(table, scanned.tokens, Builder(source), _explain)
        machine.run()
        problems += _unlike(problems, machine.diagnostics) + machine.builder.diagnostics
        if not problems and machine.result is not None:
            problems += check_depth(machine.result)
            if not machine.result.kernels:
                problems.append(_empty(source))
            if not problems:
                return machine.result
    raise SpecError(sorted(problems, key=lambda d: (d.span.start, d.span.end) if d.span else (0, 0)))


def _unlike(lexical: list[Diagnostic], problems: list[Diagnostic]) -> list[Diagnostic]:
    """Those of `problems` that do not follow, on their line, from what is no token. Foreign operators are ours."""
    unread = [p for p in lexical if p.span is not None and p.code != "TG0114"]
    lines = {p.span.line: p.span.start for p in unread if p.span is not None}
    return [p for p in problems if p.span is None or p.span.start < lines.get(p.span.line, p.span.end + 1)]


def _explain(machine: Machine) -> Diagnostic:
    """Imported when there is something to explain: a spec that parses does not wait for it."""
    from tilegen.lang.parse.mistakes import explain

    return explain(machine)


def _empty(source: Source) -> Diagnostic:
    return Diagnostic(
        "TG0105",
        f"{source.name} holds no kernel",
        None,
        helps=("write one: `kernel copy(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] }`",),
    )
