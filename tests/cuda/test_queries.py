"""What a tree uses and declares, and what of it nobody needs."""

from __future__ import annotations

from tilegen.cuda.queries import needs, pruned, used_in
from tilegen.cuda.tree import (
    INDEX,
    INT,
    Assign,
    Block,
    Cast,
    Comment,
    Declare,
    For,
    If,
    Part,
    Scope,
    Skeleton,
    Templated,
    Variable,
    add,
    at,
    library,
    number,
    optional,
)
from tilegen.cuda.types import FLOAT

FIRST, J, K, N = (Variable(n, INDEX) for n in ("i", "j", "k", "n"))
A = Variable("a", FLOAT)


def test_what_nothing_uses_goes_and_takes_with_it_what_only_it_used() -> None:
    block: Block = (
        optional(FIRST, number(1)),
        optional(J, add(FIRST, 1)),
        optional(K, number(2)),
        Assign(at(A, K), number(0)),
    )
    assert pruned(block) == (block[2:], {A})
    assert pruned(block, {J})[0] == block


def test_what_is_not_optional_stays() -> None:
    block: Block = (Declare(FIRST, number(1)),)
    assert pruned(block)[0] == block


def test_uses_in_blocks_inside_count() -> None:
    inside: Block = (Assign(at(A, FIRST), number(0)),)
    for statement in (
        If(N, inside),
        If(N, (), inside),
        Scope(inside),
        Part((Comment(("why",)),), inside),
        For(K, number(0), N, inside),
        Skeleton("x.y", {"body": inside}),
    ):
        block: Block = (optional(FIRST, number(1)), optional(J, number(2)), statement)
        assert pruned(block)[0] == (block[0], statement)


def test_a_variable_defined_again_is_not_alive_before() -> None:
    """Coordinates have one variable and a definition in each phase."""
    first: Block = (Scope((optional(FIRST, number(1)),)),)
    second: Block = (Scope((optional(FIRST, number(2)), Assign(at(A, FIRST), number(0)))),)
    kept, _ = pruned((*first, *second))
    assert kept == (Scope(()), *second)


def test_a_name_that_ends_like_another_is_another() -> None:
    """0.1.0 asked whether `max_warps` is declared by looking for it in the declaration of `argmax_warps`."""
    long, short = Variable("argmax_warps", INT), Variable("max_warps", INT)
    assert used_in((Assign(long, number(0)),)) == {long}
    assert pruned((optional(short, number(1)), Assign(long, number(0))))[0] == (Assign(long, number(0)),)


def test_types_and_functions_of_the_library() -> None:
    pair = Variable("best", Templated("Indexed", (FLOAT, INDEX)))
    block: Block = (
        Declare(pair),
        Scope((Assign(A, library("gelu", Cast(FLOAT, FIRST))),)),
        Skeleton(
            "x.y", {"type": Templated("Divisor"), "body": (Assign(A, library("relu", A)),)}, library=("edge",)
        ),
    )
    types, entries = needs(block)
    assert entries == {"Indexed", "gelu", "Divisor", "relu", "edge"}
    assert {pair.type, FLOAT, INDEX} <= set(types)
