"""Where a command's output goes: text for a person, or one JSON document; colour on a terminal only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import IO, Any

from tilegen.lang.diagnostics import Diagnostic, render_all


class Screen:
    """Results go to stdout, problems and progress to stderr. With `as_json`: one document on stdout."""

    def __init__(self, command: str, *, as_json: bool = False, no_color: bool = False) -> None:
        self.command = command
        self.as_json = as_json
        self._plain = no_color or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"

    def colour(self, stream: IO[str] | None = None) -> bool:
        """Whether `stream` (stdout) takes colours."""
        return not self._plain and (stream or sys.stdout).isatty()

    @property
    def progress(self) -> bool:
        """Whether to show progress: on a terminal that a person looks at."""
        return not self.as_json and sys.stderr.isatty()

    def say(self, text: str) -> None:
        """A result for a person."""
        if not self.as_json:
            print(text)

    def note(self, text: str) -> None:
        """A remark beside the results."""
        if not self.as_json:
            print(text, file=sys.stderr)

    def problems(self, diagnostics: Iterable[Diagnostic]) -> None:
        found = tuple(diagnostics)
        if found and not self.as_json:
            print(render_all(found, self.colour(sys.stderr)), file=sys.stderr)

    def document(self, exit_code: int, **facts: Any) -> None:
        """The JSON document; the same keys in the same order on every run."""
        if self.as_json:
            from tilegen import __version__

            head = {"tilegen": __version__, "command": self.command, "exit_code": exit_code}
            print(json.dumps({**head, **facts}, indent=2, ensure_ascii=True))
