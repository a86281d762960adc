"""Specs typed wrong: every one is generated or refused with diagnostics, soon, never with a traceback.

Fixed seeds: the same 2,000 specs each time. Mutations are of single characters and of tokens, some of them made to stay
legal (numbers, names of the same file), so that many get as far as the plan.
"""

from __future__ import annotations

import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from tilegen.core.schedule.variants import expand
from tilegen.lang.check import check
from tilegen.lang.codes import find
from tilegen.lang.diagnostics import SpecError, render_all
from tilegen.lang.parse import parse
from tilegen.lang.source import Source
from tilegen.program import build
from tilegen.target import target

TESTS = Path(__file__).parent.parent
FILES = [*sorted((TESTS.parent / "specs").glob("*.tile")), *sorted((TESTS / "data/language").glob("*.tile"))]
# Without comments: they would take most mutations and change nothing.
TEXTS = [re.sub(r"(?m)[ \t]*#.*$", "", p.read_text(encoding="utf-8")) for p in FILES]
# Kernels one by one: a mutation meets little text, and what is generated is generated once.
KERNELS = [k for text in TEXTS for k in re.split(r"(?m)^(?=kernel )", text) if k.startswith("kernel ")]
TOKEN = re.compile(r"#[^\n]*|\w+|\s+|[^\w\s]")
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "48",
    "100",
    "255",
    "1024",
    "65536",
]
NUMBERS += ["2147483648", "9223372036854775808"]
WORDS = re.findall(
    r"\w+",
    """tile threads stage vector bounds raster unroll hint max_registers min_blocks index pad swizzle group split exact
    guard f32 f64 f16 u8 i8 i64 bool c64 f8e4m3 where order strides pitch offset align soa boundary edge wrap reflect
    constant in out inout let for schedule i32 streaming readonly buffers async""",
)
SYMBOLS = [*list("()[]{},;:=.|*+-/%<>!#'\"\n "), "..", "..=", "//", "**", "==", "<="]
LIMIT = 2.0
SEEDS = 40
PER_SEED = 50


class TooLong(Exception):
    pass


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def mutated(draw: random.Random, text: str) -> str:
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        text = draw.choice((character, token, token, number, number, name))(draw, text)
    return text


def character(draw: random.Random, text: str) -> str:
    at = draw.randrange(len(text) + 1)
    match draw.randrange(4):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + draw.choice(SYMBOLS) + text[at:]
        case 2:
            return (
                text[:at]
                + chr(draw.choice((draw.randrange(32, 127), draw.randrange(0x2FFF))))
                + text[at + 1 :]
            )
        case _:
            return text[:at] + text[at : at + 8] + text[at:]


def token(draw: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text) or [text]
    at, other = draw.randrange(len(tokens)), draw.randrange(len(tokens))
    match draw.randrange(5):
        case 0:
            del tokens[at]
        case 1:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 2:
            tokens[at] = draw.choice(WORDS + SYMBOLS + NUMBERS)
        case 3:
            tokens.insert(at, f" {draw.choice(WORDS + NUMBERS)} ")
        case _:
            tokens[at] = tokens[other]
    return "".join(tokens)


def number(draw: random.Random, text: str) -> str:
    return replaced(draw, text, r"\b\d+\b", NUMBERS)


def name(draw: random.Random, text: str) -> str:
    """Any word for any other of the kernel: mostly it still parses."""
    return replaced(draw, text, r"\b[A-Za-z_]\w*\b", re.findall(r"\b[A-Za-z_]\w*\b", text) + WORDS)


def replaced(draw: random.Random, text: str, pattern: str, choices: list[str]) -> str:
    places = list(re.finditer(pattern, text))
    if not places or not choices:
        return text
    place = draw.choice(places)
    return text[: place.start()] + draw.choice(choices) + text[place.end() :]


def outcome(text: str) -> list[str]:
    """Codes of what is refused; empty lists mean generated. Anything but a SpecError goes through."""
    found = []
    try:
        spec = check(parse(Source("mutated.tile", text)))
    except SpecError as error:
        return told(error)
    arch = target("sm_90")
    for family in spec.kernels:
        variants = [v for s in family.schedules for v in expand(s)[:4]]
        for kernel in family.kernels[:2]:
            for schedule in (None, *variants[:5]):
                try:
                    program = build(kernel, schedule, arch)
                    assert program.source.isascii() and program.rendered.header
                except SpecError as error:
                    found += told(error)
    return found


def told(error: SpecError) -> list[str]:
    assert error.diagnostics
    for d in error.diagnostics:
        assert find(d.code) is not None, d.code
        assert d.span is not None, f"{d.code} has no place: {d.message}"
        assert 0 <= d.span.start <= d.span.end <= len(d.span.source.text)
        assert d.helps, f"{d.code} does not say what to do: {d.message}"
    assert render_all(error.diagnostics).encode()
    return [d.code for d in error.diagnostics]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutated(seed: int) -> None:
    draw = random.Random(seed)
    for case in range(PER_SEED):
        text = mutated(draw, draw.choice(KERNELS))
        start = time.process_time()
        try:
            with time_limit(20 * LIMIT):
                outcome(text)
        except TooLong:
            pytest.fail(f"case {case} did not end within {20 * LIMIT} s:\n{text}")
        except Exception as error:
            error.args = (f"{error} in case {case}:\n{text}",)
            raise
        assert time.process_time() - start < LIMIT, f"case {case} is slow:\n{text}"


@pytest.mark.parametrize(
    "text", KERNELS, ids=lambda t: t.split("(")[0].split("[")[0].removeprefix("kernel ").strip()
)
def test_what_is_mutated_is_accepted_before(text: str) -> None:
    """Otherwise the mutations would say nothing."""
    check(parse(Source("spec.tile", text)))


def test_mutations_reach_every_stage() -> None:
    """Among the first few hundred there are parse, check and schedule errors, and kernels that are generated."""
    draw = random.Random(1234)
    reached: Counter[str] = Counter()
    for _ in range(150):
        codes = outcome(mutated(draw, draw.choice(KERNELS)))
        reached.update({c[:4] for c in codes} if codes else {"generated"})
    assert {"TG01", "TG02", "TG03", "TG05", "generated"} <= reached.keys()
    assert reached["TG06"] + reached["TG07"] > 0 and reached["generated"] > 15
