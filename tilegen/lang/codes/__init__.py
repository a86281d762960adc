"""Every code of a problem, declared once: one module per stage, which holds nothing but its entries."""

from __future__ import annotations

from tilegen.lang.codes import call, check, environment, parse, schedule
from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (*parse.CODES, *check.CODES, *schedule.CODES, *call.CODES, *environment.CODES)

__all__ = ["CODES", "Code", "explain", "find"]


def find(code: str) -> Code | None:
    """The entry of `code` (`TG0412`, in any case, the letters may be left out), None where there is none."""
    wanted = code.strip().upper()
    wanted = wanted if wanted.startswith("TG") else f"TG{wanted.zfill(4)}"
    return next((entry for entry in CODES if entry.code == wanted), None)


def explain(code: str) -> str:
    """The page of `code` as text. Raises `KeyError` for a code that does not exist."""
    entry = find(code)
    if entry is None:
        raise KeyError(code)
    example = "\n".join(f"    {line}" for line in entry.example.splitlines())
    return f"{entry.code}: {entry.title}\n\n{entry.explanation}\n\nFor example:\n\n{example}\n"
