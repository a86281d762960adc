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
        case Binary():
            return value.left, value.right
        case Subscript():
            return value.base, value.index
        case Member():
            return (value.base,)
        case Call():
            template = value.function.template
            inside = tuple(a for a in template if isinstance(a, _EXPRESSIONS)) if template else ()
            return (*inside, *value.arguments)
        case Unary() | Cast() | PointerCast() | AddressNumber():
            return (value.operand,)
        case Conditional():
            return value.condition, value.then, value.otherwise
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
    found: set[Variable] = set()
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, Variable):
            found.add(part)
        else:
            stack.extend(operands(part))
    return found


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


def needs(block: Block) -> tuple[tuple[CType, ...], frozenset[str]]:
    """The types that a block speaks of, in the order of the text, and the entries of the library of device functions
    that it calls or whose types it has."""
    # By identity first: types are compared once each, not at every mention.
    mentioned: dict[int, CType] = {}
    entries: set[str] = set()

    def mention(*types: object) -> None:
        mentioned.update((id(t), t) for t in types if isinstance(t, CType))

    for statement in statements(block):
        mention(*(v.type for v in declared(statement)))
        if isinstance(statement, For):
            mention(statement.variable.type)
        if isinstance(statement, Skeleton):
            entries.update(statement.library)
            mention(*statement.holes.values(), *(v.type for v in statement.inner))
        for value in expressions(statement):
            for part in parts(value):
                match part:
                    case Variable() | Literal():
                        mentioned[id(part.type)] = part.type
                    case Cast() | PointerCast() | Braces():
                        mention(part.type)
                    case Call(function=function) | Instance(of=function):
                        entries.update(function.library)
                        mention(*function.template, function.scope)
                    case _:
                        pass
    types = dict.fromkeys(t for outer in mentioned.values() for t in (outer, *_inside(outer)))
    entries.update(t.name for t in types if isinstance(t, Templated))
    return tuple(types), frozenset(entries)


def _inside(type_: CType) -> Iterator[CType]:
    """The types that are arguments of a type."""
    for argument in type_.arguments if isinstance(type_, Templated) else ():
        if isinstance(argument, CType):
            yield argument
            yield from _inside(argument)
