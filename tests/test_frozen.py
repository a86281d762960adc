"""`tilegen.frozen.dataclass` makes the same classes as the standard decorator."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from tilegen.frozen import HashedOnce, lazy_dataclass


def _point(decorator: Any, **flags: bool) -> Any:
    @decorator(frozen=True, slots=True, **flags)
    class Point:
        """A point."""

        x: int
        tags: dict[str, int] = field(default_factory=dict, compare=False)
        note: str = field(default="none", repr=False)

        @property
        def double(self) -> int:
            return 2 * self.x

    Point.__qualname__ = "Point"
    return Point


@lazy_dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


@pytest.fixture(params=[dataclasses.dataclass, lazy_dataclass], ids=["standard", "lazy"])
def point(request: pytest.FixtureRequest) -> Any:
    return _point(request.param)


def test_construction(point: Any) -> None:
    a = point(1, note="n")
    assert (a.x, a.tags, a.note, a.double) == (1, {}, "n", 2)
    assert point(2, {"k": 3}).tags == {"k": 3}
    assert point(1).tags is not point(1).tags
    for arguments in ((), (1, {}, "n", 4)):
        with pytest.raises(TypeError, match="__init__"):
            point(*arguments)
    with pytest.raises(TypeError, match="z"):
        point(1, z=2)


def test_comparison(point: Any) -> None:
    a, b = point(1, {"k": 1}), point(1, {"k": 2})
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != point(2) and a != point(1, note="other") and a != (1, "none")
    assert (a == _point(dataclasses.dataclass)(1)) is False
    # Values of fields decide, as in a set of tuples.
    assert hash(point(1)) == hash((1, "none"))


def test_text_and_changes(point: Any) -> None:
    a = point(1)
    assert repr(a) == "Point(x=1, tags={})"
    assert dataclasses.replace(a, x=5) == point(5)
    assert [f.name for f in dataclasses.fields(a)] == ["x", "tags", "note"]
    assert point.__match_args__ == ("x", "tags", "note") and point.__doc__ == "A point."
    match a:
        case point(x, _, note):
            assert (x, note) == (1, "none")


def test_frozen_with_slots(point: Any) -> None:
    a = point(1)
    assert not hasattr(a, "__dict__")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        a.x = 2
    with pytest.raises((FrozenInstanceError, TypeError)):  # the standard one fails in its own way
        a.other = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del a.x
    assert a.x == 1


@pytest.mark.parametrize("decorator", [dataclasses.dataclass, lazy_dataclass])
def test_methods_of_the_class_stay(decorator: Any) -> None:
    @decorator(frozen=True, slots=True)
    class Own:
        x: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    assert Own(1) == Own(2) and repr(Own(1)) == "own"
    assert hash(Own(1)) == hash((1,))

    @decorator(frozen=True, slots=True, eq=False, repr=False)
    class Plain:
        x: int

    assert Plain(1) != Plain(1) and "object at" in repr(Plain(1))


def test_copies() -> None:
    a = Pickled(1, (2, 3))
    for b in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert b == a and b is not a


def test_a_base_with_fields() -> None:
    @lazy_dataclass(frozen=True, slots=True)
    class Base:
        x: int

    @lazy_dataclass(frozen=True, slots=True)
    class More(Base):
        y: int

    assert Base(1) == Base(1)  # compiles the methods of the base first
    a = More(1, 2)
    assert (a.x, a.y) == (1, 2) and a == More(1, 2) and a != Base(1) and Base(1) != a
    assert repr(a).endswith("More(x=1, y=2)")
    with pytest.raises(FrozenInstanceError):
        a.y = 3


def test_a_hash_that_is_worked_out_once_is_the_same_hash() -> None:
    asked = []

    class Leaf:
        def __hash__(self) -> int:
            asked.append(self)
            return 7

    @lazy_dataclass(frozen=True, slots=True)
    class Node(HashedOnce):
        child: Any
        place: int = field(default=0, compare=False)

    leaf = Leaf()
    node, same = Node(Node(leaf)), Node(Node(leaf), place=3)
    assert hash(node) == hash(node) == hash(same) and node == same
    assert len(asked) == 2  # once below each of the two
    assert copy.copy(node) == node and hash(copy.copy(node)) == hash(node)
