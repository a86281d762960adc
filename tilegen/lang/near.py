"""A name that means nothing where it stands, and the names that do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Near:
    name: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return self.name

    @property
    def nearest(self) -> str | None:
        """The known name that most probably was meant."""
        same = [k for k in sorted(self.known) if k.lower() == self.name.lower()]
        if same or not self.known:
            return same[0] if same else None
        from difflib import get_close_matches

        return next(iter(get_close_matches(self.name[:50], sorted(self.known), 1, 0.6)), None)


def near_to(name: str, known: Iterable[str]) -> Near:
    return Near(name, tuple(dict.fromkeys(known)))
