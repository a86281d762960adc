"""Compiled modules of tilegen in the user's cache, where Python keeps none beside the sources.

Python compiles a module anew in every process where its folder cannot be written, or where PYTHONDONTWRITEBYTECODE
keeps the folder clean. For the command that is longer than all else it does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType

from tilegen.cache_folder import cache_folder


def keep_bytecode(imported: ModuleSpec | None) -> None:
    """From here on in this process, unless Python keeps bytecode: `imported` is the spec of a module that is imported
    already, so Python would have kept its bytecode by now."""
    if imported is None or imported.cached is None or os.path.exists(imported.cached):
        return
    folder = cache_folder() / "bytecode"
    if folder.is_absolute():  # else there is no home directory
        sys.meta_path.insert(0, _Finder(str(folder)))


class _Finder:
    """Finds modules of tilegen where Python finds them, and has them loaded by `_Loader`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("tilegen."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path, self._folder)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, folder: str) -> None:
        super().__init__(name, path)
        self._folder = folder

    def get_code(self, fullname: str) -> CodeType | None:
        """The standard loader's, with another folder for bytecode; what it does with that is undone before the module
        runs. A damaged file is as good as none."""
        before = sys.pycache_prefix, sys.dont_write_bytecode
        try:
            sys.pycache_prefix, sys.dont_write_bytecode = self._folder, False
            return super().get_code(fullname)
        except (EOFError, ValueError, TypeError):
            return self.source_to_code(self.get_data(self.path), self.path)
        finally:
            sys.pycache_prefix, sys.dont_write_bytecode = before
