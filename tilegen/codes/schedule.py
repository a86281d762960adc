"""TG06 and TG07: schedules and plans that cannot be honoured. One entry per code, in order."""

from __future__ import annotations

from tilegen.codes.entry import Code

CODES: tuple[Code, ...] = ()
