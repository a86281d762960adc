"""What a person is told when a token cannot stand where it does."""

from __future__ import annotations

from tilegen.diagnostics import Diagnostic
from tilegen.parse.machine import Machine
from tilegen.source import Span


def explain(machine: Machine) -> Diagnostic:
    token = machine.token
    return Diagnostic("TG0120", f"unexpected {token.text!r}", Span(machine.builder.source, token.start, token.end))
