"""PTX text to instructions: a faithful, flat form of each function, with scoped names made unique.

Only syntax is handled here; whether an instruction is known is decided in `decode.py`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import replace

from tilegen.sim.faults import SimulationError
from tilegen.sim.ptx import (
    Address,
    Discard,
    Function,
    Immediate,
    Instruction,
    Label,
    Negated,
    Operand,
    Pair,
    PtxModule,
    Register,
    Symbol,
    Variable,
    Vector,
    type_size,
)

_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(.*)")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_VARIABLE = re.compile(
    r"(?P<link>(?:\.(?:visible|extern|weak|common)\s+)*)\.(?P<space>global|const|shared|local|param)\s+"
    r"(?:\.attribute\([^)]*\)\s*)?(?:\.ptr\s*(?:\.\w+\s*)?)?(?:\.align\s+(?P<align>\d+)\s+)?(?:\.v(?P<vec>\d)\s+)?"
    r"\.(?P<type>\w+)(?:\s+\.ptr(?:\s+\.(?:global|const|shared|local))?(?:\s+\.align\s+\d+)?)?\s+"
    r"(?P<name>[\w$%.]+)(?P<dims>(?:\s*\[\s*\d*\s*\])*)\s*(?:=\s*(?P<init>.*))?$",
    re.S,
)
_REGISTER_RANGE = re.compile(r"([\w$%]+)<(\d+)>")
_HEADER = re.compile(r"(?:\.(?:visible|extern|weak)\s+)*\.(entry|func)\b(.*)", re.S)
_ADDRESS = re.compile(r"\[\s*([\w$%.]+)?\s*(?:\+?\s*(-?\s*(?:0x[0-9a-fA-F]+|\d+)))?\s*\]$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def parse(text: str) -> PtxModule:
    """Parses a module's PTX text; raises `SimulationError` with the line where the syntax is unknown."""
    return _Parser(text).module()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = _COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)
        self.at = 0
        self._counted, self._line = 0, 1
        self.target = ""
        self.variables: list[Variable] = []
        self.functions: dict[str, Function] = {}

    def line_at(self, position: int) -> int:
        self._line += self.text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def module(self) -> PtxModule:
        for start, statement in self._statements():
            if statement == "{":
                raise SimulationError(f"PTX line {self.line_at(start)}: unexpected block")
            if statement.startswith(".target"):
                self.target = statement.split()[1].rstrip(",")
            elif statement.startswith((".version", ".address_size", ".file", ".loc", ".pragma", ".alias")):
                continue
            elif header := _HEADER.match(statement):
                self._function(header.group(1), header.group(2))
            elif _VARIABLE.match(statement):
                self.variables.append(_variable(statement))
            else:
                raise SimulationError(f"PTX line {self.line_at(start)}: unknown directive `{statement[:80]}`")
        return PtxModule(self.target, self.functions, tuple(self.variables))

    def _statements(self) -> Iterator[tuple[int, str]]:
        """Statements from the current position: `;`-terminated, line directives, `{`, `}` and `label:`."""
        text, size = self.text, len(self.text)
        while True:
            while self.at < size and text[self.at].isspace():
                self.at += 1
            if self.at >= size:
                return
            start, first = self.at, text[self.at]
            if first in "{};":
                self.at += 1
                if first != ";":
                    yield start, first
                continue
            if first == ".":
                word_end = start + 1
                while word_end < size and (text[word_end].isalnum() or text[word_end] == "_"):
                    word_end += 1
                word = text[start:word_end]
                if word in (".loc", ".file", ".version", ".target", ".address_size"):
                    end = text.find("\n", start)
                    end = size if end < 0 else end
                    self.at = end
                    yield start, text[start:end].strip()
                    continue
                if word == ".section":
                    self.at = text.index("}", start) + 1
                    continue
            elif label := _LABEL.match(text, start):
                self.at = label.end()
                yield start, label.group(1) + ":"
                continue
            end = start
            is_header = bool(_HEADER.match(text, start)) if first == "." else False
            stop = re.compile(r"[;{]" if is_header else r";").search(text, end)
            if stop is None:
                raise SimulationError(f"PTX line {self.line_at(start)}: unterminated statement")
            end = stop.start()
            self.at = end if text[end] == "{" else end + 1
            yield start, text[start:end].strip()

    def _function(self, kind: str, header: str) -> None:
        header = header.strip()
        results: tuple[Variable, ...] = ()
        if kind == "func" and header.startswith("("):
            inner, header = header[1:].split(")", 1)
            results = _parameters(inner)
        match = re.match(r"\s*([\w$]+)\s*(?:\((.*?)\))?", header, re.S)
        if match is None:
            raise SimulationError(f"PTX line {self.line_at(self.at)}: function without a name")
        parameters = _parameters(match.group(2) or "")
        if self.at < len(self.text) and self.text[self.at] == "{":
            self.at += 1
            bound = re.search(r"\.(?:maxntid|reqntid)\s+([\d,\s]+)", header)
            threads = math.prod(int(one) for one in bound.group(1).split(",")) if bound else 1024
            body = _Body(self, match.group(1), kind == "entry", parameters, results, threads)
            self.functions[match.group(1)] = replace(body.read(), cluster=_cluster(header))


class _Body:
    """Reads one function's body up to its closing brace."""

    def __init__(
        self,
        parser: _Parser,
        name: str,
        is_entry: bool,
        parameters: tuple[Variable, ...],
        results: tuple[Variable, ...],
        max_threads: int,
    ) -> None:
        self.max_threads = max_threads
        self.parser, self.name, self.is_entry = parser, name, is_entry
        self.parameters, self.results = parameters, results
        self.registers: dict[str, str] = {}
        self.ranges: list[tuple[str, int, str]] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.scope_count = 0
        self.variables: list[Variable] = []
        self.body: list[Instruction | Label] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self.line: int | None = None
        self.main_file: int | None = None
        self.inlined: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        self.label: str | None = None
        self.operand_cache: dict[str, Operand] = {}

    def read(self) -> Function:
        for start, statement in self.parser._statements():
            if statement == "{":
                self.scope_count += 1
                self.scopes.append({})
                self.operand_cache = {}
            elif statement == "}":
                self.scopes.pop()
                self.operand_cache = {}
                if not self.scopes:
                    break
            elif statement[0] == ".":
                self._directive(statement, start)
            elif statement.endswith(":"):
                self.label = statement[:-1]
                self.body.append(Label(self.label))
            else:
                self._instruction(statement, self.parser.line_at(start))
        return Function(
            self.name,
            self.is_entry,
            self.parameters,
            self.results,
            self.registers,
            tuple(self.variables),
            tuple(self.body),
            self.tables,
            self.max_threads,
        )

    def _directive(self, statement: str, start: int) -> None:
        if statement.startswith((".loc ", ".loc\t")):
            self._location(statement)
        elif statement.startswith(".reg"):
            words = statement[4:].strip()
            kind, names = words.split(None, 1)
            self._declare_registers(kind.lstrip("."), names)
        elif statement.startswith((".pragma", ".file")):
            return
        elif statement.startswith((".branchtargets", ".calltargets")):
            assert self.label is not None
            self.tables[self.label] = tuple(name.strip() for name in statement.split(None, 1)[1].split(","))
        elif _VARIABLE.match(statement):
            variable = _variable(statement)
            self.variables.append(
                Variable(
                    variable.space,
                    self._unique(variable.name),
                    variable.size,
                    variable.align,
                    variable.data,
                    variable.relocations,
                    variable.external,
                )
            )
        else:
            raise SimulationError(
                f"PTX line {self.parser.line_at(start)}: unknown directive `{statement[:80]}`"
            )

    def _location(self, statement: str) -> None:
        match = _LOC.match(statement)
        if match is None:
            return
        place = (int(match.group(1)), int(match.group(2)), int(match.group(3)))
        if self.main_file is None:
            self.main_file = place[0]
        if outer := _INLINED.search(match.group(4)):
            inlined = (int(outer.group(1)), int(outer.group(2)), int(outer.group(3)))
            if inlined != place:
                self.inlined[place] = inlined
            place = inlined
            for _ in range(64):
                if place not in self.inlined:
                    break
                place = self.inlined[place]
        if place[1] > 0:
            self.line = place[1]

    def _unique(self, name: str) -> str:
        if len(self.scopes) == 1:
            return name
        unique = f"{name}@{self.scope_count}"
        self.scopes[-1][name] = unique
        self.operand_cache = {}
        return unique

    def _declare_registers(self, kind: str, names: str) -> None:
        for name in (one.strip() for one in names.split(",")):
            ranged = _REGISTER_RANGE.match(name)
            if ranged is None:
                self.registers[self._unique(name)] = kind
                continue
            prefix, count = ranged.group(1), int(ranged.group(2))
            for number in range(count):
                self.registers[self._unique(f"{prefix}{number}")] = kind

    def _resolve(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return name

    def _instruction(self, statement: str, ptx_line: int) -> None:
        rest, guard = statement, None
        if rest[0] == "@":
            word, rest = rest[1:].split(None, 1)
            register = Register(self._resolve(word.lstrip("!")))
            guard = Negated(register) if word[0] == "!" else register
        opcode, _, arguments = rest.partition(" ") if " " in rest.split("\t", 1)[0] else rest.partition("\t")
        operands = self._call(arguments) if opcode.startswith("call") else self._operands(arguments)
        self.body.append(
            Instruction(
                tuple(opcode.strip().replace("::", "_").split(".")),
                operands,
                guard,
                ptx_line,
                self.line,
                " ".join(statement.split()),
            )
        )

    def _call(self, arguments: str) -> tuple[Operand, ...]:
        """(results), target, (arguments) in one shape whatever was left out."""
        items = _split(arguments)
        results: Operand = Vector(())
        if items and items[0].startswith("("):
            results = self._list(items.pop(0))
        target = self.operand(items.pop(0))
        given = self._list(items.pop(0)) if items else Vector(())
        return (results, target, given, *(self.operand(item) for item in items))

    def _list(self, text: str) -> Vector:
        return Vector(tuple(self.operand(item) for item in _split(text.strip()[1:-1])))

    def _operands(self, text: str) -> tuple[Operand, ...]:
        return tuple(self.operand(item) for item in _split(text))

    def operand(self, text: str) -> Operand:
        found = self.operand_cache.get(text)
        if found is None:
            found = self.operand_cache[text] = self._parse_operand(text)
        return found

    def _parse_operand(self, text: str) -> Operand:
        first = text[0]
        if first == "{":
            return self._list(text)
        if first == "[":
            match = _ADDRESS.match(text)
            if match is None:
                raise SimulationError(f"unknown address `{text}`")
            offset = int((match.group(2) or "0").replace(" ", ""), 0)
            if match.group(1) is None:
                return Address(None, offset)
            if match.group(1)[0].isdigit():
                return Address(None, int(match.group(1), 0) + offset)
            base = self._name(match.group(1))
            return Address(base, offset)
        if first == "!":
            return Negated(Register(self._resolve(text[1:].strip())))
        if "|" in text:
            left, right = text.split("|", 1)
            return Pair(self.operand(left.strip()), self.operand(right.strip()))
        if text == "_":
            return Discard()
        if first.isdigit() or first in "-+":
            return Immediate(_number(text))
        symbol, plus, offset_text = text.partition("+")
        if plus and not symbol.startswith("%"):
            return Symbol(self._resolve(symbol.strip()), int(offset_text, 0))
        return self._name(text)

    def _name(self, text: str) -> Register | Symbol:
        name = self._resolve(text)
        if name in self.registers or text.startswith("%"):
            return Register(name)
        return Symbol(name)


def _cluster(header: str) -> tuple[int, int, int] | None:
    found = re.search(r"\.reqnctapercluster\s+([\d,\s]+)", header)
    if found is None:
        if ".explicitcluster" in header:
            raise SimulationError("a kernel whose launch gives the size of its clusters is not supported")
        return None
    x, y, z = (*(int(one) for one in found.group(1).split(",")), 1, 1)[:3]
    return x, y, z


def _number(text: str) -> int | float:
    body = text.rstrip("U")
    negative = body.startswith("-")
    body = body.lstrip("+-")
    value: int | float
    if body[:2] in ("0f", "0F"):
        value = float(struct.unpack("<f", struct.pack("<I", int(body[2:], 16)))[0])
    elif body[:2] in ("0d", "0D"):
        value = float(struct.unpack("<d", struct.pack("<Q", int(body[2:], 16)))[0])
    elif body[:2] in ("0x", "0X", "0b", "0B"):
        value = int(body, 0)
    elif "." in body or "e" in body or "E" in body:
        value = float(body)
    elif body.startswith("0") and len(body) > 1:
        value = int(body, 8)
    else:
        value = int(body)
    return -value if negative else value


def _split(text: str) -> list[str]:
    """Splits at commas outside brackets."""
    if "{" not in text and "(" not in text:
        return [item.strip() for item in text.split(",")] if text.strip() else []
    items: list[str] = []
    depth, start = 0, 0
    for index, char in enumerate(text):
        if char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        elif char == "," and depth == 0:
            items.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*items, last] if last else items


def _parameters(text: str) -> tuple[Variable, ...]:
    return tuple(_variable(item) for item in _split(text))


def _variable(text: str) -> Variable:
    match = _VARIABLE.match(text.strip())
    if match is None:
        raise SimulationError(f"unknown variable declaration `{text[:80]}`")
    element = type_size(match.group("type")) * int(match.group("vec") or 1)
    count, sized = 1, True
    for extent in re.findall(r"\[\s*(\d*)\s*\]", match.group("dims")):
        sized = sized and bool(extent)
        count *= int(extent or 0)
    data: bytes | None = None
    relocations: tuple[tuple[int, str], ...] = ()
    if match.group("init") is not None:
        values = [item for item in re.sub(r"[{}]", ",", match.group("init")).split(",") if item.strip()]
        if not sized:
            count = len(values)
        data, relocations = _initial(values, match.group("type"), element * count)
    return Variable(
        match.group("space"),
        match.group("name"),
        element * count,
        int(match.group("align") or element),
        data,
        relocations,
        "extern" in match.group("link"),
    )


def _initial(values: list[str], kind: str, size: int) -> tuple[bytes, tuple[tuple[int, str], ...]]:
    width = type_size(kind)
    data = bytearray(size)
    relocations: list[tuple[int, str]] = []
    for index, item in enumerate(values):
        text = item.strip()
        if text[0].isalpha() or text[0] in "_$":
            name = re.sub(r"generic\(([\w$]+)\)", r"\1", text)
            relocations.append((index * width, name))
            continue
        value = _number(text)
        if kind[0] == "f":
            packed = struct.pack({2: "<e", 4: "<f", 8: "<d"}[width], value)
        else:
            packed = (int(value) & ((1 << (8 * width)) - 1)).to_bytes(width, "little")
        data[index * width : (index + 1) * width] = packed
    return bytes(data), tuple(relocations)
