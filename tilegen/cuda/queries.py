"""Questions to a tree: what it uses, what it declares, what of it nobody needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from tilegen.cuda.tree import (
    AddressNumber,
    Assign,
    Barrier,
    Binary,
    Block,
    Braces,
    Call,
    Cast,
    Comment,
    Conditional,
    CType,
    Declare,
    Expression,
    For,
    If,
    Instance,
    Literal,
    Member,
    Part,
    PointerCast,
    Return,
    Run,
    Scope,
    Skeleton,
    Statement,
    Subscript,
    Templated,
    Unary,
    Variable,
)

_EXPRESSIONS = (
    Variable,
    Literal,
    Unary,
    Binary,
    Conditional,
    Cast,
    PointerCast,
    AddressNumber,
    Call,
    Instance,
    Subscript,
    Member,
    Braces,
)


def operands(value: Expression) -> tuple[Expression, ...]:
    """The expressions directly below one."""
    match value:
        case Variable() | Literal() | Instance():
            return ()
        case Unary() | Cast() | PointerCast() | AddressNumber():
            return (value.operand,)
        case Binary():
            return value.left, value.right
        case Conditional():
            return value.condition, value.then, value.otherwise
        case Call():
            inside = tuple(a for a in value.function.template if isinstance(a, _EXPRESSIONS))
            return (*inside, *value.arguments)
        case Subscript():
            return value.base, value.index
        case Member():
            return (value.base,)
        case Braces():
            return value.items
    assert_never(value)


def parts(value: Expression) -> Iterator[Expression]:
    """An expression and everything below it."""
    stack = [value]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(operands(found)))


def variables(value: Expression) -> set[Variable]:
    """The variables that an expression uses."""
    return {v for v in parts(value) if isinstance(v, Variable)}


def uses(value: Expression, wanted: Iterable[Variable]) -> bool:
    """Whether an expression uses one of the variables."""
    looked_for = set(wanted)
    return any(v in looked_for for v in parts(value) if isinstance(v, Variable))


def blocks(statement: Statement) -> tuple[Block, ...]:
    """The blocks directly inside a statement."""
    match statement:
        case If():
            return statement.then, statement.otherwise
        case For() | Scope() | Part():
            return (statement.body,)
        case Skeleton():
            return tuple(h for h in statement.holes.values() if isinstance(h, tuple))
        case _:
            return ()


def statements(block: Block) -> Iterator[Statement]:
    """The statements of a block and of all blocks inside it, in the order of the text."""
    for statement in block:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def expressions(statement: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement itself, not those of blocks inside it."""
    match statement:
        case Declare():
            return (*statement.variable.shape, *(() if statement.value is None else (statement.value,)))
        case Assign():
            return statement.target, statement.value
        case Run():
            return (statement.expression,)
        case If():
            return (statement.condition,)
        case For():
            return statement.first, statement.limit, statement.step
        case Skeleton():
            return tuple(h for h in statement.holes.values() if isinstance(h, _EXPRESSIONS))
        case Scope() | Part() | Barrier() | Return() | Comment():
            return ()
    assert_never(statement)


def declared(statement: Statement) -> tuple[Variable, ...]:
    """The variables that a statement brings into the block it stands in."""
    match statement:
        case Declare():
            return (statement.variable,)
        case Skeleton():
            return statement.declares
        case _:
            return ()


def used_in(block: Block) -> set[Variable]:
    """The variables that a block uses, its own among them."""
    return {v for s in statements(block) for e in expressions(s) for v in variables(e)}


def pruned(block: Block, live: Iterable[Variable] = ()) -> tuple[Block, set[Variable]]:
    """The block without optional definitions that nothing behind them uses, and what it uses of the block around it.

    `live`: variables that are used behind the block."""
    needed = set(live)
    remaining: list[Statement] = []
    for statement in reversed(block):
        if isinstance(statement, Declare) and statement.optional and statement.variable not in needed:
            continue
        needed.difference_update(declared(statement))
        statement, inside = _pruned_inside(statement, needed)
        needed |= inside
        for value in expressions(statement):
            needed |= variables(value)
        if isinstance(statement, For):
            needed.discard(statement.variable)
        remaining.append(statement)
    return tuple(reversed(remaining)), needed


def _pruned_inside(statement: Statement, live: set[Variable]) -> tuple[Statement, set[Variable]]:
    """A statement whose blocks are pruned, and what these use of what is around them."""
    match statement:
        case If():
            then, first = pruned(statement.then, live)
            otherwise, second = pruned(statement.otherwise, live)
            return replace(statement, then=then, otherwise=otherwise), first | second
        case For() | Scope() | Part():
            body, needed = pruned(statement.body, live)
            return replace(statement, body=body), needed
        case Skeleton():
            holes, needed = dict(statement.holes), set[Variable]()
            for name, hole in statement.holes.items():
                if isinstance(hole, tuple):
                    holes[name], inside = pruned(hole, live)
                    needed |= inside
            return replace(statement, holes=holes), needed - set(statement.inner)
        case _:
            return statement, set()


# What a file needs for a tree


def library_entries(block: Block) -> set[str]:
    """The entries of the library of device functions that a block calls, or whose types it has."""
    found: set[str] = set()
    for statement in statements(block):
        if isinstance(statement, Skeleton):
            found.update(statement.library)
            found.update(n for h in statement.holes.values() for n in _entries_of(h))
        for value in expressions(statement):
            for part in parts(value):
                match part:
                    case Call():
                        found.update(part.function.library)
                    case Instance():
                        found.update(part.of.library)
                    case _:
                        pass
    found.update(t.name for t in types(block) if isinstance(t, Templated))
    return found


def _entries_of(hole: object) -> tuple[str, ...]:
    return (hole.name,) if isinstance(hole, Templated) else ()


def types(block: Block) -> dict[CType, None]:
    """The types that a block speaks of, in the order of the text."""
    found: dict[CType, None] = {}

    def take(type_: object) -> None:
        if isinstance(type_, CType):
            found[type_] = None
        if isinstance(type_, Templated):
            for argument in type_.arguments:
                take(argument)

    for statement in statements(block):
        for variable in declared(statement):
            take(variable.type)
        if isinstance(statement, For):
            take(statement.variable.type)
        if isinstance(statement, Skeleton):
            for hole in statement.holes.values():
                take(hole)
            for variable in statement.inner:
                take(variable.type)
        for value in expressions(statement):
            for part in parts(value):
                match part:
                    case Cast() | PointerCast() | Braces():
                        take(part.type)
                    case Literal():
                        take(part.type)
                    case Call():
                        take(part.function.scope)
                        for argument in part.function.template:
                            take(argument)
                    case Variable():
                        take(part.type)
                    case _:
                        pass
    return found
