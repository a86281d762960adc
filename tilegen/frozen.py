"""`dataclass` for frozen classes with slots: the standard one, but methods are compiled when they are first called.

The standard decorator compiles seven functions for each class when its module is imported, 0.4 ms in all. A command
imports two hundred such classes and makes objects of a few dozen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

T = TypeVar("T")


class HashedOnce:
    """A frozen class whose objects hold others like them: the hash takes in all of those, and is worked out once."""

    __slots__ = ("_hash",)


def lazy_dataclass(
    *, frozen: Literal[True], slots: Literal[True], eq: bool = True, repr: bool = True
) -> Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass`, for classes whose fields are all arguments of `__init__`."""
    names = ("__init__", *(("__eq__", "__hash__") if eq else ()), *(("__repr__",) if repr else ()))

    def decorate(written: type[T]) -> type[T]:
        written.__doc__ = written.__doc__ or written.__name__  # else the standard one looks for a signature
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(written)
        for name in names:
            # A class that defines `__eq__` gets `__hash__ = None` from Python.
            if written.__dict__.get(name) is None:
                setattr(made, name, _compiled_on_call(made, name))
        for method in (_setattr, _delattr, _getstate, _setstate):
            setattr(made, f"__{method.__name__[1:]}__", method)
        return made

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = lazy_dataclass


def _compiled_on_call(owner: type[Any], name: str) -> Callable[..., Any]:
    """A method that puts the real one into its place."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        function = _METHODS[name](owner)
        function.__qualname__ = f"{owner.__qualname__}.{name}"
        setattr(owner, name, function)
        return function(self, *args, **kwargs)

    return method


def _init(owner: type[Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    parameters, lines = ["self"], []
    for f in dataclasses.fields(owner):
        parameter = value = f.name
        if f.default is not MISSING:
            known[f"_default_{f.name}"] = f.default
            parameter = f"{f.name}=_default_{f.name}"
        elif f.default_factory is not MISSING:
            known[f"_make_{f.name}"] = f.default_factory
            parameter, value = f"{f.name}=_MISSING", f"_make_{f.name}() if {f.name} is _MISSING else {f.name}"
        parameters.append(parameter)
        lines.append(f"_set(self, {f.name!r}, {value})")
    return _compiled("__init__", ", ".join(parameters), "; ".join(lines) or "pass", known)


def _eq(owner: type[Any]) -> Callable[..., Any]:
    compared = [f.name for f in dataclasses.fields(owner) if f.compare]
    left, right = (f"({''.join(f'{side}.{name}, ' for name in compared)})" for side in ("self", "other"))
    body = f"return {left} == {right} if other.__class__ is self.__class__ else NotImplemented"
    return _compiled("__eq__", "self, other", body, {})


def _hash(owner: type[Any]) -> Callable[..., Any]:
    hashed = "".join(f"self.{f.name}, " for f in dataclasses.fields(owner) if f.compare)
    body = f"return hash(({hashed}))"
    if issubclass(owner, HashedOnce):
        body = f"""
    try:
        return self._hash
    except AttributeError:
        _set(self, "_hash", hash(({hashed})))
        return self._hash"""
    return _compiled("__hash__", "self", body, {"_set": object.__setattr__})


def _repr(owner: type[Any]) -> Callable[..., Any]:
    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in dataclasses.fields(owner) if f.repr)
    return _compiled("__repr__", "self", f"return f'{{self.__class__.__qualname__}}({shown})'", {})


def _compiled(name: str, parameters: str, body: str, known: dict[str, Any]) -> Callable[..., Any]:
    exec(f"def {name}({parameters}): {body}", known)
    function: Callable[..., Any] = known[name]
    return function


_METHODS = {"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__repr__": _repr}


def _setattr(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field '{name}'")


def _delattr(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field '{name}'")


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
