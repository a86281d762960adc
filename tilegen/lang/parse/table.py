"""The LALR(1) table of `grammar/tile.lark`, made by Lark once and kept in the user's cache directory.

Importing Lark and building the table take longer than everything else that `tilegen check` does, so a process that
finds the table never imports Lark. The file is JSON: reading a damaged or hostile one runs nothing and falls back to
building.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tilegen.cache_folder import cache_folder

_GRAMMAR = Path(__file__).parents[2] / "grammar" / "tile.lark"


@dataclass(frozen=True, slots=True)
class Rule:
    """One production. `callback` names the method that builds its value. With None, the value is that of the only
    symbol (`unwrap`) or the list of its children, which the production above splices into its own. `parts` says what
    becomes of each symbol's value: 0 dropped, 1 kept, 2 spliced."""

    origin: str
    parts: tuple[int, ...]
    callback: str | None
    unwrap: bool


@dataclass(frozen=True, slots=True)
class Table:
    """`actions[state][symbol]`: n >= 0 goes to state n, n < 0 reduces by `rules[-1 - n]`. `words` are the keywords and
    `punctuation` the other literals, both with the name of their terminal; `patterns` the regular expressions."""

    actions: tuple[dict[str, int], ...]
    rules: tuple[Rule, ...]
    start: int
    end: int
    words: dict[str, str]
    punctuation: dict[str, str]
    patterns: dict[str, str]


@cache
def load_table() -> Table:
    """The table, from the cache where it is there and whole, else from Lark."""
    grammar = _GRAMMAR.read_text(encoding="utf-8")
    # This module says how a grammar becomes a table, so a change of it makes another table as well. The name keeps
    # versions apart; whether a file is the right one is decided by comparing `made_from`.
    made_from = Path(__file__).read_text(encoding="utf-8") + grammar
    path = cache_folder() / f"grammar-{zlib.crc32(made_from.encode()):08x}.json"
    try:
        return _decode(json.loads(path.read_text(encoding="utf-8")), made_from)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    data = _build(grammar) | {"made_from": made_from}
    _store(path, json.dumps(data, separators=(",", ":")))
    return _decode(data, made_from)


def _store(path: Path, text: str) -> None:
    """Whole or not at all; a directory that cannot be written is no reason to fail."""
    import tempfile

    if not path.is_absolute():  # no home directory
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="grammar-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        pass


def _decode(data: dict[str, Any], made_from: str) -> Table:
    if data["made_from"] != made_from:
        raise ValueError("table of another grammar")
    rules = tuple(
        Rule(origin, tuple(parts), callback, unwrap) for origin, parts, callback, unwrap in data["rules"]
    )
    actions: tuple[dict[str, int], ...] = tuple(data["actions"])
    if not all(-len(rules) <= action < len(actions) for row in actions for action in row.values()):
        raise ValueError("damaged table")
    return Table(
        actions, rules, data["start"], data["end"], data["words"], data["punctuation"], data["patterns"]
    )


def _build(grammar: str) -> dict[str, Any]:
    from lark import Lark
    from lark.grammar import Rule as LarkRule
    from lark.lexer import Lexer, PatternStr

    class NoLexer(Lexer):
        """Tokens come from `scanner.py`."""

        def __init__(self, lexer_conf: Any) -> None: ...

        def lex(self, lexer_state: Any, parser_state: Any) -> Any:
            raise NotImplementedError

    tables = Lark(grammar, parser="lalr", lexer=NoLexer, maybe_placeholders=False)
    table = tables.parser.parser._parse_table
    numbers: dict[LarkRule, int] = {rule: number for number, rule in enumerate(tables.rules)}

    order = _reading_order(table.states, table.start_states["start"])

    def encode(action: tuple[Any, Any]) -> int:
        kind, argument = action
        return order[argument] if kind.name == "Shift" else -1 - numbers[argument]

    words: dict[str, str] = {}
    punctuation: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for terminal in tables.terminals:
        if not isinstance(terminal.pattern, PatternStr):
            patterns[terminal.name] = terminal.pattern.value
        elif terminal.pattern.value.isidentifier():
            words[terminal.pattern.value] = terminal.name
        else:
            punctuation[terminal.pattern.value] = terminal.name
    return {
        "actions": [{s: encode(a) for s, a in sorted(table.states[state].items())} for state in order],
        "rules": [_encode_rule(rule) for rule in tables.rules],
        "start": order[table.start_states["start"]],
        "end": order[table.end_states["start"]],
        "words": dict(sorted(words.items())),
        "punctuation": dict(sorted(punctuation.items())),
        "patterns": dict(sorted(patterns.items())),
    }


def _reading_order(states: dict[int, dict[str, tuple[Any, Any]]], start: int) -> dict[int, int]:
    """New numbers of the states, in the order in which they are met from the start: Lark's differ from run to run."""
    order = {start: 0}
    pending = [start]
    for state in pending:
        for _, (kind, following) in sorted(states[state].items(), key=lambda item: item[0]):
            if kind.name == "Shift" and following not in order:
                order[following] = len(order)
                pending.append(following)
    return order


def _encode_rule(rule: Any) -> list[Any]:
    name: str = rule.origin.name
    parts = []
    for symbol in rule.expansion:
        if symbol.is_term:
            parts.append(0 if symbol.filter_out and not rule.options.keep_all_tokens else 1)
        else:
            parts.append(2 if symbol.name.startswith("_") else 1)
    unwrap = bool(rule.options.expand1 and rule.alias is None)
    assert not unwrap or parts == [1], "the machine unwraps single children only"
    callback = rule.alias or (None if unwrap or name.startswith("_") else name)
    return [str(name), parts, callback and str(callback), unwrap]
