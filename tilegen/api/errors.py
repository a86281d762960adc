"""What a caller did wrong, with a stable code, facts and actions, as diagnostics of specs have them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilegen.run.errors import ArgumentError, ArgumentTypeError


class CallError(ArgumentError):
    """An argument that a kernel cannot take. `code` has a page: `tilegen explain-code TG0813`."""

    def __init__(
        self, code: str, message: str, *, helps: tuple[str, ...], notes: tuple[str, ...] = ()
    ) -> None:
        self.code, self.message, self.notes, self.helps = code, message, notes, helps
        lines = [f"{message} [{code}]", *(f"note: {n}" for n in notes), *(f"help: {h}" for h in helps)]
        super().__init__("\n".join(lines))


class CallTypeError(CallError, ArgumentTypeError):
    """An argument that is no array, or one of other elements."""


class SimulatedFault(RuntimeError):
    """The simulator saw generated code do what no kernel may: a bug in tilegen."""


@contextmanager
def coded(code: str, help: str, *more: str) -> Iterator[None]:
    """Give an `ArgumentError` raised inside its code, and what to do."""
    helps = (help, *more)
    try:
        yield
    except CallError:
        raise
    except ArgumentTypeError as error:
        raise CallTypeError(code, str(error), helps=helps) from None
    except ArgumentError as error:
        raise CallError(code, str(error), helps=helps) from None
