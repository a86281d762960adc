"""What can go wrong apart from the spec: the environment, the arguments of a call, a launch, tilegen itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALL = "pip install 'tilegen[cuda13]' (or 'tilegen[cuda12]')"


class ToolchainMissing(RuntimeError):
    """The environment lacks something. `fact` says what, `action` what to install or set."""

    exit_code = 3

    def __init__(self, fact: str, action: str) -> None:
        super().__init__(f"{fact}\nhelp: {action}")
        self.fact = fact
        self.action = action

    def __reduce__(self) -> tuple[type[ToolchainMissing], tuple[str, str]]:
        return type(self), (self.fact, self.action)


class CompileError(RuntimeError):
    """NVRTC refused generated code: an error in tilegen, or in a prelude the user wrote.

    The source is kept in `source_path` (None where no folder could be written to); `log` is NVRTC's.
    """

    def __init__(self, fact: str, *, log: str, source_path: Path | None, spec: str | None = None) -> None:
        of_spec = f" for spec '{spec}'" if spec else ""
        kept = f"\nnote: the source is kept in {source_path}" if source_path else ""
        super().__init__(f"{fact}{of_spec}{kept}\n{log.rstrip()}")
        self.fact = fact
        self.log = log
        self.source_path = source_path
        self.spec = spec


class ArgumentError(ValueError):
    """An argument has the wrong shape, strides, device or access; the message names it."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is no array, or one of elements the kernel does not take."""


class LaunchError(RuntimeError):
    """A launch configuration outside the target's limits, or one that the driver refused."""


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
