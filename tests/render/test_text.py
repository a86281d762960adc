"""What holds of every generated text, whatever it computes: clean, plain, nothing unused, the same bytes anywhere."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tilegen.program import Program

Programs = tuple[tuple[str, Program], ...]
COMMENT = re.compile(r"//[^\n]*")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# `const index_t i = …;`, `f32x4 rows[4] = {};`, `for (int step_i = 0; …`, `float (&a_tile)[32][33] = …`.
LOCAL = re.compile(
    r"^ +(?:for \()?(?:const |constexpr |__shared__ |__align__\(\d+\) |extern )*[A-Za-z_]\w*(?: [a-z]+)? "
    r"\(?&?([A-Za-z_]\w*)\)?(?:\[[^;=]*\])? ?(?:=|;)",
    re.M,
)
KERNEL = re.compile(r"template <typename index_t>\nstatic __global__ .*?\n\}\n", re.S)


def functions(source: str) -> list[str]:
    """The text of each kernel, from its signature to its closing brace, without comments."""
    return [COMMENT.sub("", text) for text in KERNEL.findall(source)]


def test_lines(programs: Programs) -> None:
    for name, program in programs:
        for text in (program.source, program.rendered.header):
            assert text.isascii() and text.endswith("\n") and not text.endswith("\n\n"), name
            for number, line in enumerate(text.split("\n"), 1):
                where = f"{name}, line {number}: {line}"
                assert "\t" not in line and "\r" not in line and line == line.rstrip(), where
                assert not re.search(r";\s*;|,\s*\)|\(\s*,|  +[^ /]", line.strip().split("//")[0]), where
            assert "\n\n\n" not in program.source and "\n\n\n" not in program.rendered.header, name
        for text in KERNEL.findall(program.source):
            assert "{\n\n" not in text and "\n\n}" not in text, name


def test_lines_are_not_too_long(programs: Programs) -> None:
    for name, program in programs:
        for number, line in enumerate(program.source.split("\n"), 1):
            assert len(line) <= 160, f"{name}, line {number} has {len(line)} characters: {line}"


def test_no_traces_of_templates_or_of_python(programs: Programs) -> None:
    artefact = re.compile(
        r"\{\{|\}\}|\{%|%\}|/\*@|@|\bNone\b|\bTrue\b|\bFalse\b|<[\w.]+ object at|Expr\(|\bUndefined\b|//.*\*\*"
    )
    for name, program in programs:
        # A comment may quote the spec, and that may hold `**`.
        quoted = {line.strip() for line in program.kernel.span.source.text.splitlines()}
        lines = (program.source + program.rendered.header).splitlines()
        found = artefact.search("\n".join(x for x in lines if x.strip().lstrip("/ ") not in quoted))
        assert found is None, f"{name}: {found}"


def test_brackets_close_and_blocks_are_indented(programs: Programs) -> None:
    for name, program in programs:
        depth = 0
        for number, line in enumerate(COMMENT.sub("", program.source).split("\n"), 1):
            code = line.strip()
            if not code or code.startswith("#"):
                continue
            closing = len(code) - len(code.lstrip("})"))
            here = depth - (1 if closing else 0)
            if (
                not re.match(r"^\w+ \w.*\(?$|^namespace|^extern|^__attribute__|^static_assert", code)
                and "namespace" not in code
            ):
                assert (len(line) - len(line.lstrip())) % 4 == 0, f"{name}, line {number}: {line}"
            if "namespace" not in code:
                depth += code.count("{") - code.count("}")
            assert here >= -1, f"{name}, line {number}"
        assert Counter(program.source)["("] == Counter(program.source)[")"], name


def test_every_local_and_parameter_is_used(programs: Programs) -> None:
    for name, program in programs:
        for text in functions(program.source):
            uses = Counter(WORD.findall(text))
            signature, body = text.split("\n{\n", 1)
            declared = LOCAL.findall(body) + re.findall(r"(\w+)[,)]$", signature.split("(", 2)[2], re.M)
            assert declared, name
            unused = [d for d in declared if uses[d] < 2]
            assert not unused, f"{name}: {unused} in\n{text}"


def test_every_helper_and_struct_is_used(programs: Programs) -> None:
    for name, program in programs:
        text = COMMENT.sub("", program.source)
        uses = Counter(WORD.findall(text))
        # Members of a struct come with it.
        declared = re.findall(r"^static __device__ __forceinline__ [\w<>]+ (\w+)\(", text, re.MULTILINE)
        declared += re.findall(r"struct (?:__align__\(\d+\) )?(\w+) \{", text)
        assert not [d for d in declared if uses[d] < 2], name


def test_each_kernel_is_launched_with_each_index_type_it_may_need(programs: Programs) -> None:
    for name, program in programs:
        host = program.source.split("}  // namespace")[1]
        for number, _ in enumerate(program.plans):
            kernel = program.rendered.entry(number, "int").split("<")[0]
            assert re.search(rf"{kernel}<(int|long long)><<<", host), f"{name}: {kernel}"


def test_constants_are_not_macros(programs: Programs) -> None:
    """Report P2: nothing leaks but the include guard."""
    for name, program in programs:
        defined = re.findall(r"#define (\w+)", program.source + program.rendered.header)
        assert all(d.startswith("TILEGEN_") and d.endswith(("_CU", "_H")) for d in defined), name


def test_each_phase_says_what_it_does(programs: Programs) -> None:
    for name, program in programs:
        for text in KERNEL.findall(program.source):
            paragraphs = text.split("\n{\n", 1)[1].split("\n\n")
            phases = [
                p.strip() for p in paragraphs if not p.strip().startswith(("const", "__syncthreads();"))
            ]
            assert phases and all(p.startswith("//") for p in phases), f"{name}\n{text}"


def test_marked_lines_point_into_the_spec(programs: Programs) -> None:
    for name, program in programs:
        lines = program.source.split("\n")
        spec = program.kernel.span.source
        assert program.rendered.lines, name
        for line, mark in program.rendered.lines.items():
            assert lines[line - 1].strip(), name
            assert spec.line(mark).strip(), name


DIGEST = """
import hashlib, sys
from pathlib import Path
from tilegen.lang.check import check
from tilegen.lang.parse import parse
from tilegen.program import build
from tilegen.core.schedule.variants import expand
from tilegen.lang.source import Source
from tilegen.target import target
total = hashlib.sha256()
for path in sys.argv[1:]:
    family = check(parse(Source("spec.tile", Path(path).read_text()))).kernels[0]
    for schedule in (None, *(v for s in family.schedules for v in expand(s))):
        program = build(family.kernels[0], schedule, target("sm_90"))
        total.update((program.source + program.rendered.header).encode())
print(total.hexdigest())
"""


def test_the_same_bytes_under_any_hash_seed_and_folder(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    files = sorted((root / "golden").glob("*.tile"))
    import tilegen

    package = str(Path(tilegen.__file__).parent.parent)
    digests = set()
    for number, seed in enumerate(("0", "1", "4242")):
        folder = tmp_path / f"dir {number}"
        folder.mkdir()
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": package,
            "TILEGEN_CACHE_DIR": str(folder),
        }
        done = subprocess.run(
            [sys.executable, "-c", DIGEST, *map(str, files)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1 and hashlib.sha256().name


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_was_built_before_does_not_matter(order: tuple[int, int]) -> None:
    """Names are handed out per file: no counter lives longer than it."""
    from tilegen.lang.check import check
    from tilegen.lang.parse import parse
    from tilegen.lang.source import Source
    from tilegen.program import build
    from tilegen.target import target

    texts = [
        "kernel a(N) { in x: f32[N]; out y: f32[N]; y[i] = x[i] * 2.0 }",
        "kernel b(N, M) { in x: f16[N, M]; out y: f16[M, N]; y[j, i] = x[i, j] }",
    ]
    sources = {}
    for n in order:
        sources[n] = build(
            check(parse(Source("t", texts[n]))).kernels[0].kernels[0], None, target("sm_90")
        ).source
    again = {
        n: build(check(parse(Source("t", t))).kernels[0].kernels[0], None, target("sm_90")).source
        for n, t in enumerate(texts)
    }
    assert sources == again
