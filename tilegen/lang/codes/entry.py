"""One code of a problem."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """`code` never changes its meaning. `title` is a phrase, `explanation` a paragraph that says what the rule is and
    why, `example` a spec (or a part of one, or a call) that has the problem."""

    code: str
    title: str
    explanation: str
    example: str
