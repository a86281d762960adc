"""The library of device functions: `templates/device/*.cuh`, plain CUDA that people read, printed as it stands.

`//: name` begins an entry. After the name, each behind a semicolon: `needs a, b` (entries that come before it wherever
it is printed), `sees a` (overloads that it must come after, where a file has them), `also a, b` (further names that it
declares), `global` (it is declared outside the namespace).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "templates" / "device"
_WORDS = ("needs", "sees", "also", "global")


@dataclass(frozen=True, slots=True)
class Entry:
    """One device function or struct, or a few that belong together: its text, and what else has to be printed."""

    name: str
    needs: tuple[str, ...]
    sees: tuple[str, ...]
    also: tuple[str, ...]
    outside: bool
    text: str


@cache
def entries() -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for path in sorted(_FOLDER.glob("*.cuh")):
        for piece in path.read_text(encoding="utf-8").split("\n//: ")[1:]:
            head, _, text = piece.partition("\n")
            entry = _entry(head, text.strip("\n") + "\n")
            assert entry.name not in found, f"{path}: {entry.name} is declared twice"
            found[entry.name] = entry
    return found


def _entry(head: str, text: str) -> Entry:
    name, *rest = (part.strip() for part in head.split(";"))
    lists: dict[str, tuple[str, ...]] = {}
    for part in rest:
        word, _, names = part.partition(" ")
        assert word in _WORDS, f"`{word}` of {name}"
        lists[word] = tuple(n.strip() for n in names.split(",") if n.strip())
    return Entry(
        name,
        lists.get("needs", ()),
        lists.get("sees", ()),
        lists.get("also", ()),
        "global" in lists,
        text,
    )


@cache
def entry_names() -> frozenset[str]:
    """Every name that an entry declares."""
    return frozenset(n for e in entries().values() for n in (e.name, *e.also))


def in_order(names: Iterable[str]) -> tuple[Entry, ...]:
    """The entries `names` and what they need, each after what it needs, otherwise alphabetical."""
    asked = frozenset(names)
    done: dict[str, Entry] = {}

    def add(name: str) -> None:
        entry = entries()[name]
        for needed in (*entry.needs, *(n for n in entry.sees if n in asked)):
            add(needed)
        done[name] = entry

    for name in sorted(asked):
        add(name)
    return tuple(done.values())
