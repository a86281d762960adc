"""TG02 to TG05: what the checks of a spec report. One entry per code, in order."""

from __future__ import annotations

from tilegen.codes.entry import Code

CODES: tuple[Code, ...] = ()
