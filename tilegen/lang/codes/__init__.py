"""Every code of a problem with all its words: one module per stage, which holds nothing but its entries.

Rules name a case (`TG0309.local`) and pass values; imported where a problem is told.
"""

from __future__ import annotations

from tilegen.lang.codes import call, clauses, environment, indices, names, parse, schedule, types
from tilegen.lang.codes.entry import Case, Code

CODES: tuple[Code, ...] = (
    *parse.CODES,
    *names.CODES,
    *indices.CODES,
    *types.CODES,
    *clauses.CODES,
    *schedule.CODES,
    *call.CODES,
    *environment.CODES,
)
CASES: dict[str, Case] = {
    f"{entry.code}.{name}".rstrip("."): case for entry in CODES for name, case in entry.cases.items()
}

# What a problem depends on beyond its place: facts that any code may have.
CIRCUMSTANCES = {"types": "with {}", "define": "with `--define {}`"}


def find(code: str) -> Code | None:
    """The entry of `code` (`TG0412`, in any case, the letters may be left out), None where there is none."""
    name = code.strip().upper()
    name = name if name.startswith("TG") else f"TG{name.zfill(4)}"
    return next((entry for entry in CODES if entry.code == name), None)


def explain(code: str) -> str:
    """The page of `code` as text. Raises `KeyError` for a code that does not exist."""
    entry = find(code)
    if entry is None:
        raise KeyError(code)
    example = "\n".join(f"    {line}" for line in entry.example.splitlines())
    return f"{entry.code}: {entry.title}\n\n{entry.explanation}\n\nFor example:\n\n{example}\n"
