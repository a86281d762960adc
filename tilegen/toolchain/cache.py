"""A disk cache of compiled kernels: bytes under a key, for many processes at once.

An entry is one file: the SHA-256 of the payload, then the payload. It is written beside its place and
moved there, so a reader sees all of it or nothing; one that fails its checksum is deleted and made anew.
A folder that cannot be read or written turns the cache off without a word: it only ever saves time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tilegen.cache_folder import cache_folder

_DIGEST = hashlib.sha256().digest_size
_PRUNE_EVERY = 64


@dataclass(frozen=True, slots=True)
class CacheState:
    """`problem` says why the folder cannot be used; None where it can."""

    directory: Path
    entries: int
    total_bytes: int
    problem: str | None


class Cache:
    """Entries live in `directory/compiled`; the least recently used go once there are over `max_bytes`."""

    def __init__(self, directory: Path, max_bytes: int = 512 * 1024 * 1024) -> None:
        self.directory = directory
        self.max_bytes = max_bytes
        self._puts = 0

    @property
    def _root(self) -> Path:
        return self.directory / "compiled"

    def path(self, key: str) -> Path:
        """Where the entry of `key`, a hex digest, lies or would lie."""
        return self._root / key[:2] / key

    def get(self, key: str) -> bytes | None:
        """The payload stored under `key`; None if there is none, or only a damaged one."""
        path = self.path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, payload = content[:_DIGEST], content[_DIGEST:]
        if len(content) < _DIGEST or hashlib.sha256(payload).digest() != digest:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store `payload`; on a full or read-only disk do nothing."""
        path = self.path(key)
        temporary: str | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return
        if self._puts % _PRUNE_EVERY == 0:
            self.prune()
        self._puts += 1

    def prune(self) -> None:
        """Delete the least recently used entries until at most `max_bytes` remain."""
        entries = sorted(self._files(), key=lambda item: item[1].st_mtime_ns)
        total = sum(status.st_size for _, status in entries)
        for path, status in entries:
            if total <= self.max_bytes:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= status.st_size

    def clear(self) -> None:
        """Delete every entry and kept source."""
        for folder in (self._root, self.directory / "failed"):
            shutil.rmtree(folder, ignore_errors=True)

    def keep_source(self, name: str, source: str) -> Path | None:
        """Write the source of a failed compilation where it can be looked at, and say where."""
        digest = hashlib.sha256(source.encode()).hexdigest()[:12]
        for folder in (self.directory / "failed", Path(tempfile.gettempdir()) / f"tilegen-{os.getpid()}"):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{digest}-{name}"
                path.write_text(source, encoding="utf-8")
            except OSError:
                continue
            return path
        return None

    def state(self) -> CacheState:
        """Size and usability, found by writing a file."""
        files = list(self._files())
        problem = None
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._root):
                pass
        except OSError as error:
            problem = error.strerror or str(error)
        return CacheState(self.directory, len(files), sum(status.st_size for _, status in files), problem)

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder, _, names in os.walk(self._root):
            for name in names:
                # Another process may delete it meanwhile.
                with contextlib.suppress(OSError):
                    path = Path(folder) / name
                    yield path, path.stat()


def default_cache() -> Cache:
    """The user's cache folder, or the one that TILEGEN_CACHE_DIR names."""
    return _cache_in(cache_folder())


@lru_cache(maxsize=8)
def _cache_in(folder: Path) -> Cache:
    """One cache per folder and process, so that pruning is now and then and not at every compilation."""
    return Cache(folder)
