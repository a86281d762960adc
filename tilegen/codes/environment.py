"""TG09: what the environment lacks, and what cannot be emitted. One entry per code, in order."""

from __future__ import annotations

from tilegen.codes.entry import Code

CODES: tuple[Code, ...] = ()
