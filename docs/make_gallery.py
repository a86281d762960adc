"""Writes docs/gallery.md from the specs' own tests on the simulator: `python docs/make_gallery.py`; `--check` compares.

Every number comes from `tilegen verify --shapes spec --arch sm_90 --json specs/`; nothing is written by hand but the
lines that say what a pattern is. Registers and occupancy depend on the compiler's version and are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "docs" / "gallery.md"

# Spec -> the rows of the list of memory patterns that it shows, and what it is.
PATTERNS: dict[str, tuple[str, str]] = {
    "copy": ("1", "Contiguous copy, 4, 8 and 16 bytes per thread; every element type."),
    "vector_add": ("1", "Two inputs, one output; an update in place; a row and a column broadcast."),
    "strided": ("2", "Strided reads and writes, strides from the array, a slice from the end."),
    "gap": ("3", "Groups with holes: sectors follow the holes."),
    "gather": ("3", "Random places, and whole rows at random."),
    "misaligned": ("4", "A base that is off by one element; a crop with a run-time origin."),
    "pitched": ("5", "Rows that start on 128 bytes, and a column of them."),
    "aos": ("6", "Array of structs to structure of arrays, back, and to blocks of 32."),
    "transpose": (
        "7-11",
        "The ladder: reading rows, writing rows, tile, padded tile, vectors with a swizzle.",
    ),
    "transpose_types": ("11", "16-byte transposes of 1, 2, 8 and 16-byte elements."),
    "transpose_odd": ("12", "Odd sides: tiles whose rows end where a sector does."),
    "bounds": ("12", "Ragged edges: guards, split, exact; block order and index types."),
    "shared_banks": ("13", "Strides through shared memory for 4, 8 and 16-byte elements; a broadcast."),
    "readonly": ("17", "Cache hints as a family of schedules."),
    "registers": ("18", "A register cap, launch bounds, and a cap so low that values spill."),
    "big_shared": ("19", "Tiles of more than 48 KiB."),
    "reductions": (
        "21",
        "Reductions of everything, of rows, of columns, of several axes; where extremes are.",
    ),
    "softmax": ("23", "Softmax and log-softmax in one pass, and in place."),
    "layernorm": ("23", "Layer norm, RMS norm, and GELU + residual + layer norm in one pass."),
    "cross_entropy": ("23", "A reduction of rows and a gather of one element of each."),
    "nchw_to_nhwc": ("24", "Channels first to channels last."),
    "nhwc_to_nchw": ("24", "Channels last to channels first."),
    "permute": ("24", "Permutations of rank 3 and 5, and column-major storage."),
    "pixel_shuffle": ("24", "Depth to space, from the input's and the output's side, and back."),
    "im2col": ("24", "Every pixel with its neighbourhood, zero outside."),
    "vertical_flip": ("-", "Flips and a quarter turn: one axis reversed."),
    "concat": ("-", "`where` that picks between two tensors."),
    "padding": ("-", "numpy.pad's modes as boundaries."),
    "scan": (
        "-",
        "Prefix sums and other scans: rows in a part of a warp, a warp, a block; one long row; columns.",
    ),
    "elementwise": ("-", "Functions, several outputs, integers, conversions."),
    "histogram": (
        "-",
        "Counting matches: bytes, intervals, pairs, channels, rows, weights; a copy of the bins per lane.",
    ),
}

HEAD = """# Gallery

A line per pattern, schedule by schedule. Measured on the simulator, which executes the PTX of the generated source for
sm_90 and counts as the hardware does. Made by `python docs/make_gallery.py`; `tests/test_docs.py` checks that it
covers every spec.

Columns: sectors of 32 bytes per warp-wide load and store; load and store efficiency (distinct sectors that hold the
data, over sectors moved); bank conflicts (wavefronts of shared memory beyond one per group); bytes of shared memory
per block. A sector that several warps ask for counts each time: a row that is read again for every row of an image has
a low efficiency without costing DRAM anything.
Numbers are for the first choice of types and the largest shape among the spec's tests that the simulator runs. The
patterns' numbers are rows of the list of memory patterns that the project has to cover.
"""


def measured() -> dict[str, list[dict[str, Any]]]:
    """The reports of each spec by its stem, from one run of the command."""
    command = [
        sys.executable,
        "-m",
        "tilegen",
        "verify",
        "--shapes",
        "spec",
        "--arch",
        "sm_90",
        "--json",
        "specs",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr or done.stdout)
    return {Path(f["file"]).stem: f["reports"] for f in json.loads(done.stdout)["files"]}


def text(found: dict[str, list[dict[str, Any]]]) -> str:
    parts = [HEAD]
    for stem, (rows, line) in PATTERNS.items():
        number = "" if rows == "-" else f" (pattern{'s' if '-' in rows else ''} {rows.replace('-', ' to ')})"
        parts.append(f"## [{stem}](../specs/{stem}.tile){number}\n\n{line}\n")
        parts.append(table(found[stem]))
    return "\n".join(parts)


def table(reports: list[dict[str, Any]]) -> str:
    lines = [
        "| kernel | schedule | at | load | store | load eff. | store eff. | conflicts | shared |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    seen: set[str] = set()
    for report in reports:
        if report["kernel"] in seen:
            continue
        seen.add(report["kernel"])
        types = ", ".join(f"{n} = {t}" for n, t in report["types"].items())
        for row in report["schedules"]:
            sizes, m = largest(report, row["schedule"])
            at = ", ".join([*(f"{n} = {v}" for n, v in sizes.items()), *([types] if types else [])])
            cells = ["-"] * 6
            if m is not None:
                cells = [
                    f"{m['load_sectors_per_request']:.4g}",
                    f"{m['store_sectors_per_request']:.4g}",
                    f"{m['load_efficiency']:.0%}",
                    f"{m['store_efficiency']:.0%}",
                    f"{m['bank_conflicts']}",
                    f"{m['shared_bytes']}",
                ]
            schedule = row["schedule"].replace("|", "\\|")
            lines.append(f"| {report['kernel']} | {schedule} | {at} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def largest(report: dict[str, Any], schedule: str) -> tuple[dict[str, int], dict[str, Any] | None]:
    """Sizes and metrics of the case with the largest product of sizes (the later one of two)."""
    cases = [c for c in report["cases"] if c["schedule"] == schedule and c["metrics"] is not None]
    if not cases:
        return {}, None
    found = max(reversed(cases), key=lambda c: prod(c["sizes"].values()))
    return found["sizes"], found["metrics"]


def main() -> int:
    written = text(measured())
    if "--check" in sys.argv[1:]:
        same = GALLERY.read_text(encoding="utf-8") == written
        print(
            "the gallery is up to date"
            if same
            else "docs/gallery.md differs: run python docs/make_gallery.py"
        )
        return 0 if same else 1
    GALLERY.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
