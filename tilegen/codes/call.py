"""TG08: calls of a kernel. One entry per code, in order."""

from __future__ import annotations

from tilegen.codes.entry import Code

CODES: tuple[Code, ...] = ()
