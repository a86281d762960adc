"""What a person is told when a token cannot stand where it does.

`explain` asks the rules in order; each knows one mistake and answers None for any other. The last one says what the
grammar expects, in the words of the language.
"""

from __future__ import annotations

from collections.abc import Callable

from tilegen.lang.diagnostics import Diagnostic
from tilegen.lang.parse.machine import Machine
from tilegen.lang.parse.mistakes import missing, words
from tilegen.lang.parse.mistakes.place import Place


def explain(machine: Machine) -> Diagnostic:
    """Why the present token of `machine` cannot be read."""
    kinds = machine.table.actions[machine.states[-1]]
    expected = frozenset(kind for kind in kinds if kind.lstrip("_$")[:1].isupper() and machine.accepts(kind))
    place = Place(machine, expected - {"ERROR"})
    return next(found for rule in _RULES if (found := rule(place)) is not None)


_RULES: tuple[Callable[[Place], Diagnostic | None], ...] = (
    missing.missing_block_end,
    missing.bracket_mismatch,
    missing.unclosed_bracket,
    words.chained_comparison,
    words.assignment_or_comparison,
    words.second_index,
    words.slice_index,
    words.conditional_expression,
    words.python_range,
    words.unknown_statement,
    words.unknown_top,
    words.unknown_directive,
    words.range_in_target,
    missing.missing_comma,
    missing.missing_colon,
    words.unknown_clause,
    missing.statement_ends_early,
    missing.unexpected,
)
