"""Where tilegen keeps what it can make again: the grammar's table, compiled templates, compiled kernels."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ENVIRONMENT = "TILEGEN_CACHE_DIR"


def cache_folder() -> Path:
    """The user's cache folder, or the one that TILEGEN_CACHE_DIR names. It need not exist, nor be writable."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return Path(chosen)
    platform: str = sys.platform  # not compared in place: mypy would call the rest unreachable
    if platform == "linux":  # what platformdirs says too, without the 7 ms that importing it takes
        base = os.environ.get("XDG_CACHE_HOME", "")
        return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache"), "tilegen")
    from platformdirs import user_cache_path

    return user_cache_path("tilegen")
