"""What can go wrong on the way from CUDA C to a cubin: the environment, or tilegen itself."""

from __future__ import annotations

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
