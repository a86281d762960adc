"""One entry as a single list of instructions: calls inlined, blocks put in reconvergence order.

The machine always runs the threads with the least position next, so the order decides where divergent threads
meet again. Blocks are sorted topologically with every loop kept contiguous, which makes a block come after
everything that can still lead to it, as the hardware's reconvergence at the post-dominator does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilegen.sim.faults import SimulationError, UnsupportedInstruction
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
)

_MAX_INLINE_DEPTH = 16
_ENDS = ("bra", "brx", "ret", "exit")


@dataclass(frozen=True, slots=True)
class Program:
    """`follows[pc]` is where execution goes on after `pc` (-1: nowhere); `targets[pc]` are its branch targets.

    A position at which `follows[pc] != pc + 1`, or that branches, ends a block. `starts` are block starts.
    `shared`, `local` and `call_parameters` map variables to byte offset, offset and size.
    """

    name: str
    instructions: tuple[Instruction, ...]
    follows: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...]
    starts: frozenset[int]
    registers: dict[str, str]
    parameters: tuple[Variable, ...]
    max_threads: int
    cluster: tuple[int, int, int]
    call_parameters: dict[str, int]
    shared: dict[str, int]
    shared_sizes: dict[str, int]
    static_shared: int
    local: dict[str, int]
    local_bytes: int


def build(module: PtxModule, entry: str) -> Program:
    """Inlines, splits into blocks, orders them and resolves branches."""
    function = module.functions.get(entry)
    if function is None or not function.is_entry:
        names = ", ".join(name for name, one in module.functions.items() if one.is_entry)
        raise SimulationError(f"no kernel `{entry}` in this module; it has: {names or 'none'}")
    inliner = _Inliner(module)
    inliner.expand(function, "", {}, 0)
    shared, sizes, static_shared = _lay_out(
        [v for v in (*module.variables, *inliner.variables) if v.space == "shared"]
    )
    local, _, local_bytes = _lay_out([v for v in inliner.variables if v.space == "local"])
    code = [item for item in inliner.body]
    instructions, follows, targets, starts = _order(code, inliner.tables)
    return Program(
        name=entry,
        instructions=instructions,
        follows=follows,
        targets=targets,
        starts=starts,
        registers=inliner.registers,
        parameters=function.parameters,
        max_threads=function.max_threads,
        cluster=function.cluster or (1, 1, 1),
        call_parameters={v.name: v.size for v in inliner.variables if v.space == "param"},
        shared=shared,
        shared_sizes=sizes,
        static_shared=static_shared,
        local=local,
        local_bytes=local_bytes,
    )


def _lay_out(variables: list[Variable]) -> tuple[dict[str, int], dict[str, int], int]:
    """Offsets in declaration order, extern arrays (sized by the launch) after all others."""
    offsets: dict[str, int] = {}
    sizes: dict[str, int] = {}
    end = 0
    for variable in sorted(variables, key=lambda v: v.external):
        align = max(variable.align, 16) if variable.external else variable.align
        end = -(-end // align) * align
        offsets[variable.name], sizes[variable.name] = end, variable.size
        end += variable.size
    return offsets, sizes, end


class _Inliner:
    def __init__(self, module: PtxModule) -> None:
        self.module = module
        self.body: list[Instruction | Label] = []
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self.calls = 0

    def expand(self, function: Function, prefix: str, names: dict[str, str], depth: int) -> None:
        if prefix:
            own = [v.name for v in function.variables]
            own += [item.name for item in function.body if isinstance(item, Label)]
            names = {**{name: prefix + name for name in own}, **names}
        for register, kind in function.registers.items():
            self.registers[prefix + register] = kind
        self.variables += [replace(v, name=names.get(v.name, v.name)) for v in function.variables]
        for label, table in function.jump_tables.items():
            self.tables[names.get(label, label)] = tuple(names.get(one, one) for one in table)
        rename = _renamer(prefix, names, function.registers) if prefix else None
        for item in function.body:
            if isinstance(item, Label):
                self.body.append(Label(names.get(item.name, item.name)))
                continue
            renamed = _rename(item, rename) if rename else item
            if item.parts[0] == "call":
                self._call(renamed, depth)
            elif item.parts[0] == "ret" and prefix:
                self.body.append(replace(renamed, parts=("bra",), operands=(Symbol(prefix + "return"),)))
            else:
                self.body.append(renamed)

    def _call(self, call: Instruction, depth: int) -> None:
        results, target, arguments = call.operands[:3]
        callee = self.module.functions.get(target.name) if isinstance(target, Symbol) else None
        if callee is None or depth >= _MAX_INLINE_DEPTH:
            reason = "recursion" if callee else "indirect call, or a function outside the module"
            raise UnsupportedInstruction(call.text, call.ptx_line, call.line, reason)
        assert isinstance(results, Vector) and isinstance(arguments, Vector)
        self.calls += 1
        prefix = f"{callee.name}#{self.calls}:"
        names: dict[str, str] = {}
        formal = (*callee.results, *callee.parameters)
        for variable, actual in zip(formal, (*results.items, *arguments.items), strict=True):
            if not isinstance(actual, Symbol):
                raise UnsupportedInstruction(call.text, call.ptx_line, call.line, "register argument")
            names[variable.name] = actual.name
        after = prefix + "return"
        if call.guard is not None:
            opposite = call.guard.register if isinstance(call.guard, Negated) else Negated(call.guard)
            self.body.append(replace(call, parts=("bra",), operands=(Symbol(after),), guard=opposite))
        self.expand(callee, prefix, names, depth + 1)
        self.body.append(Label(after))


Renamer = Callable[[Operand], Operand]


def _renamer(prefix: str, names: dict[str, str], registers: dict[str, str]) -> Renamer:
    def rename(operand: Operand) -> Operand:
        match operand:
            case Register(name):
                return Register(prefix + name) if name in registers else operand
            case Symbol(name, offset):
                return Symbol(names.get(name, name), offset)
            case Address(base, offset):
                if base is None:
                    return operand
                renamed = rename(base)
                assert isinstance(renamed, Register | Symbol)
                return Address(renamed, offset)
            case Vector(items):
                return Vector(tuple(rename(item) for item in items))
            case Pair(first, second):
                return Pair(rename(first), rename(second))
            case Negated(register):
                inner = rename(register)
                assert isinstance(inner, Register)
                return Negated(inner)
            case Immediate() | Discard():
                return operand

    return rename


def _rename(instruction: Instruction, rename: Renamer) -> Instruction:
    guard = rename(instruction.guard) if instruction.guard is not None else None
    assert guard is None or isinstance(guard, Register | Negated)
    operands = tuple(rename(operand) for operand in instruction.operands)
    return replace(instruction, operands=operands, guard=guard)


@dataclass(slots=True)
class _Block:
    code: list[Instruction]
    follow: int
    branch: tuple[int, ...]


def _order(
    code: list[Instruction | Label], tables: dict[str, tuple[str, ...]]
) -> tuple[tuple[Instruction, ...], tuple[int, ...], tuple[tuple[int, ...], ...], frozenset[int]]:
    blocks = _blocks(code, tables)
    successors = [[*one.branch, *([one.follow] if one.follow >= 0 else [])] for one in blocks]
    order = _topological(list(range(len(blocks))), successors, 0)
    start_of: dict[int, int] = {}
    position = 0
    for index in order:
        start_of[index] = position
        position += len(blocks[index].code)
    instructions: list[Instruction] = []
    follows: list[int] = []
    targets: list[tuple[int, ...]] = []
    for index in order:
        block = blocks[index]
        for offset, instruction in enumerate(block.code):
            last = offset == len(block.code) - 1
            after = start_of[block.follow] if block.follow >= 0 else -1
            instructions.append(instruction)
            follows.append(after if last else start_of[index] + offset + 1)
            targets.append(tuple(start_of[one] for one in block.branch) if last else ())
    return tuple(instructions), tuple(follows), tuple(targets), frozenset(start_of.values())


def _blocks(code: list[Instruction | Label], tables: dict[str, tuple[str, ...]]) -> list[_Block]:
    groups: list[list[Instruction]] = [[]]
    label_block: dict[str, int] = {}
    for item in code:
        if isinstance(item, Label):
            if groups[-1]:
                groups.append([])
            label_block[item.name] = len(groups) - 1
            continue
        groups[-1].append(item)
        if item.parts[0] in _ENDS:
            groups.append([])
    end = replace(_first(groups), parts=("ret",), operands=(), guard=None, text="ret (end of function)")
    if not groups[-1]:
        groups[-1] = [end]
    else:
        groups.append([end])
    blocks: list[_Block] = []
    for index, group in enumerate(groups):
        last = group[-1]
        kind = last.parts[0]
        follow = index + 1 if index + 1 < len(groups) else -1
        branch: tuple[int, ...] = ()
        if kind == "bra":
            target = last.operands[0]
            assert isinstance(target, Symbol)
            branch = (label_block[target.name],)
        elif kind == "brx":
            table = last.operands[1]
            assert isinstance(table, Symbol)
            branch = tuple(label_block[name] for name in tables[table.name])
        if kind in _ENDS and last.guard is None:
            follow = -1
        blocks.append(_Block(group, follow, branch))
    return blocks


def _first(groups: list[list[Instruction]]) -> Instruction:
    for group in groups:
        if group:
            return group[0]
    return Instruction(("ret",), (), None, 0, None, "ret")


def _topological(nodes: list[int], successors: list[list[int]], entry: int) -> list[int]:
    """Reachable nodes in topological order of strongly connected components, loops ordered inside likewise."""
    allowed = set(nodes)
    edges = {node: [one for one in successors[node] if one in allowed] for node in nodes}
    return _ordered(edges, entry)


def _ordered(edges: dict[int, list[int]], entry: int) -> list[int]:
    order: list[int] = []
    for component in reversed(_components(edges, entry)):
        if len(component) == 1:
            order.append(component[0])
            continue
        inside = set(component)
        entered = {
            target for node, out in edges.items() if node not in inside for target in out if target in inside
        }
        header = entry if entry in inside else min(entered)
        inner = {n: [t for t in edges[n] if t in inside and t != header] for n in component}
        order.extend(_ordered(inner, header))
        missed = [node for node in component if node not in set(order)]
        order.extend(sorted(missed))
    return order


def _components(edges: dict[int, list[int]], entry: int) -> list[list[int]]:
    """Tarjan's algorithm from `entry`, iterative; components come out in reverse topological order."""
    index: dict[int, int] = {entry: 0}
    low: dict[int, int] = {entry: 0}
    stack, on_stack = [entry], {entry}
    work: list[tuple[int, int]] = [(entry, 0)]
    result: list[list[int]] = []
    while work:
        node, child = work.pop()
        out = edges[node]
        if child < len(out):
            work.append((node, child + 1))
            target = out[child]
            if target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, 0))
            elif target in on_stack:
                low[node] = min(low[node], index[target])
            continue
        if work:
            parent = work[-1][0]
            low[parent] = min(low[parent], low[node])
        if low[node] == index[node]:
            component: list[int] = []
            while True:
                member = stack.pop()
                on_stack.discard(member)
                component.append(member)
                if member == node:
                    break
            result.append(component)
    return result
