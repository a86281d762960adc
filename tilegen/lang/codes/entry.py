"""One code of a problem: what it means, and the words for each case of it.

Words are templates in the style of `str.format`. `{name}` is the text of a value, and a word after a colon says how
it is shown:

    {rank:axis}         1 axis, 2 axes (so with every noun)
    {given:is}          is, are
    {names:list}        `a`, `b`; or: none              {names:and}, {names:or}     `a`, `b` and `c`
    {ranges:points}     i in 0..M, j in 0..N; or: a single point
    {name:near axes}    what there is instead of the name in a `Near`

A text that names a value that is None is left out. Of alternatives (`either`) the first that has all its values is
told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from string import Formatter

from tilegen.lang.near import Near


@dataclass(frozen=True, slots=True)
class Help:
    """What to do. Each text of `edits` does it, typed instead of what stands at the place `at`: a value, by default the
    place of the problem. `{names:each}` in an edit makes one for each of the names."""

    text: str
    edits: tuple[str, ...] = ()
    at: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a code: what is wrong (`message`), facts (`notes`), actions (`helps`), each with its alternatives;
    and the text at other places that matter (`labels`: the value that is the place, and its text)."""

    message: tuple[str, ...]
    helps: tuple[tuple[Help, ...], ...]
    notes: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def values(self) -> frozenset[str]:
        """The names of all values that a rule passes."""
        helps = [help for alternatives in self.helps for help in alternatives]
        texts = [
            *self.message,
            *(text for note in self.notes for text in note),
            *(text for _, text in self.labels),
        ]
        texts += [text for help in helps for text in (help.text, *help.edits)]
        places = {place for place, _ in self.labels} | {help.at for help in helps if help.at}
        return frozenset(name for text in texts for name in _names(text)) | places


@dataclass(frozen=True, slots=True)
class Code:
    """`code` never changes its meaning. `title` is a phrase, `explanation` a paragraph that says what the rule is and
    why, `example` a spec (or a part of one, or a call) that has the problem. A code with one case has it as ``""``."""

    code: str
    title: str
    explanation: str
    example: str
    cases: Mapping[str, Case] = field(default_factory=dict)


Text = str | tuple[str, ...]


def code(code: str, title: str, explanation: str, example: str, *case: Case, **cases: Case) -> Code:
    """One `case`, or several that have names."""
    assert len(case) == (not cases), f"{code} has one case, or cases with names"
    return Code(code, title, explanation, example, {"": case[0]} if case else cases)


def case(
    message: Text, *helps: str | Help | tuple[Help, ...], note: Text | list[Text] = (), **labels: str
) -> Case:
    """`note`: one, or a list of several."""
    notes = note if isinstance(note, list) else [note] if note else []
    return Case(
        (message,) if isinstance(message, str) else message,
        tuple((Help(h),) if isinstance(h, str) else (h,) if isinstance(h, Help) else h for h in helps),
        tuple((n,) if isinstance(n, str) else n for n in notes),
        tuple(labels.items()),
    )


def either(*alternatives: str) -> tuple[str, ...]:
    return alternatives


def do(*alternatives: str | Help) -> tuple[Help, ...]:
    return tuple(Help(h) if isinstance(h, str) else h for h in alternatives)


def edit(text: str, *edits: str, at: str = "") -> Help:
    return Help(text, edits, at)


def near(what: str) -> Help:
    """Instead of `name` the nearest of the names known, or all of them. `what`: their noun."""
    return Help(f"{{name:near {what}}}", ("{name:nearest}",))


def spec(*lines: str, head: str = "(N)") -> str:
    """The kernel `k` of these lines."""
    return "\n    ".join([f"kernel k{head} {{", *lines]) + "\n}"


def fill(alternatives: Iterable[str], values: Mapping[str, object]) -> str | None:
    """The first of the templates that has all its values; None where none has."""
    return next((text for template in alternatives for text in _fill(template, values)), None)


def fill_each(template: str, values: Mapping[str, object]) -> Iterator[str]:
    """The texts of an edit: one for each name of `{names:each}`."""
    for name, spec in _fields(template):
        several = values[name]
        if spec == "each" and isinstance(several, tuple):
            for one in several:
                yield from _fill(template.replace(f"{{{name}:each}}", f"{{{name}}}"), {**values, name: one})
            return
    yield from _fill(template, values)


def _fill(template: str, values: Mapping[str, object]) -> Iterator[str]:
    """The text, or nothing where it names a value that is None."""
    parts = []
    for text, name, spec, _ in Formatter().parse(template):
        parts.append(text)
        if name is not None:
            shown = _shown(values[name], spec or "")
            if shown is None:
                return
            parts.append(shown)
    yield "".join(parts)


_PLURALS = {"axis": "axes", "index": "indices"}


def _shown(value: object, spec: str) -> str | None:
    word, _, rest = spec.partition(" ")
    match value, word:
        case None, _:
            return None
        case Near(), "near":
            return _words(value, rest)
        case Near(), "nearest":
            return value.nearest
        case tuple(), "list" | "and" | "or":
            return _listed(value, "" if word == "list" else word)
        case tuple(), "points":
            return ", ".join(map(str, value)) or "a single point"
        case int(), "is":
            return "is" if value == 1 else "are"
        case int(), _ if word:
            return f"{value} {spec if value == 1 else _PLURALS.get(spec, spec + 's')}"
        case bool(), _:
            return str(value).lower()
        case Enum(), _:
            return str(value.value)
        case _:
            assert not spec, f"{value!r} has no form {spec!r}"
            return str(value)


_MOST_LISTED = 24


def _words(name: Near, what: str) -> str:
    if name.nearest is not None:
        return f"did you mean `{name.nearest}`?"
    if len(name.known) > _MOST_LISTED:
        return f"the language reference lists all {what}"
    return f"{what} known here: {_listed(name.known)}" if name.known else f"there are no {what} to name here"


def _listed(names: tuple[object, ...], word: str = "") -> str:
    quoted = [f"`{name}`" for name in names] or ["none"]
    if not word or len(quoted) == 1:
        return ", ".join(quoted)
    return f"{', '.join(quoted[:-1])} {word} {quoted[-1]}"


def _fields(template: str) -> Iterator[tuple[str, str]]:
    return ((name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name is not None)


def _names(template: str) -> Iterator[str]:
    return (name for name, _ in _fields(template))
