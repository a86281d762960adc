import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilegen.target import target
from tilegen.toolchain import Cache, Compiled, CompileOptions, compile_source, default_cache, nvrtc

KEY = hashlib.sha256(b"key").hexdigest()
SOURCE = 'extern "C" __global__ void k(float* b) { b[0] = 1.0f; }'


def compiled(cache: Cache | None, source: str = SOURCE, **changed: object) -> Compiled:
    arguments: dict[str, object] = {"target": target("sm_90"), "entries": ("k",), "cache": cache, **changed}
    return compile_source(source, **arguments)  # type: ignore[arg-type]


def test_put_and_get(cache: Cache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"
    assert cache.state().entries == 1
    cache.clear()
    assert cache.get(KEY) is None


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100], ids=["empty", "short", "wrong"])
def test_damage_is_noticed_and_removed(cache: Cache, content: bytes) -> None:
    cache.put(KEY, b"payload")
    cache.path(KEY).write_bytes(content)
    assert cache.get(KEY) is None
    assert not cache.path(KEY).exists()


def test_truncation_and_flipped_bits_are_noticed(cache: Cache) -> None:
    cache.put(KEY, bytes(range(256)) * 40)
    whole = cache.path(KEY).read_bytes()
    for damaged in (whole[:-1], whole + b"\0", whole[:50] + bytes([whole[50] ^ 1]) + whole[51:]):
        cache.path(KEY).write_bytes(damaged)
        assert cache.get(KEY) is None


def test_hit_equals_fresh(cache: Cache) -> None:
    fresh, hit = compiled(cache), compiled(cache)
    assert (fresh.cached, hit.cached) == (False, True)
    assert hit == fresh


def test_everything_that_matters_is_in_the_key(cache: Cache) -> None:
    template = "template <class T> __global__ void k(T* b) { b[0] = T(1); }"
    variants: list[tuple[str, dict[str, object]]] = [
        (SOURCE, {}),
        (SOURCE + "\n", {}),
        (SOURCE, {"target": target("sm_80")}),
        (SOURCE, {"target": target("sm_90a")}),
        (SOURCE, {"options": CompileOptions(lineinfo=False)}),
        (SOURCE, {"options": CompileOptions(fast_math=True)}),
        (SOURCE, {"options": CompileOptions(max_registers=32)}),
        (SOURCE, {"options": CompileOptions(defines=("A=1",))}),
        (SOURCE, {"want_cubin": False}),
        (SOURCE, {"name": "other.cu"}),
        (template, {"entries": ("k<int>",)}),
        (template, {"entries": ("k<float>",)}),
    ]
    for expected in (False, True):
        for source, changed in variants:
            assert compiled(cache, source, **changed).cached is expected, changed
    assert cache.state().entries == len(variants)


def test_new_headers_are_a_miss(cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "include"
    folder.mkdir()
    (folder / "cuda_fp16.h").write_text("#define ONE 1.0f\n")
    monkeypatch.setattr(nvrtc, "searched_paths", lambda major: (folder,))
    source = '#include "cuda_fp16.h"\nextern "C" __global__ void k(float* b) { b[0] = ONE; }'
    before = compiled(cache, source)
    assert compiled(cache, source).cached
    (folder / "cuda_fp16.h").write_text(
        "#define ONE 1.00f // another version\n#undef ONE\n#define ONE 3.0f\n"
    )
    after = compiled(cache, source)
    assert not after.cached and after.ptx != before.ptx


def test_a_damaged_entry_is_compiled_anew(cache: Cache) -> None:
    fresh = compiled(cache)
    (entry,) = (path for path in (cache.directory / "compiled").rglob("*") if path.is_file())
    good = entry.read_bytes()
    entry.write_bytes(good[: len(good) // 2])
    again = compiled(cache)
    assert not again.cached and again == fresh
    assert entry.read_bytes() == good
    # Whole, but not what this version writes.
    cache.put(entry.name, b"\x05\0\0\0\0\0\0\0[1,2]")
    assert not compiled(cache).cached and compiled(cache).cached


def test_a_folder_that_cannot_be_used_is_no_error(tmp_path: Path) -> None:
    # A file in the way fails for root too, as a read-only mount or a full disk would.
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache")
    assert compiled(cache).entries == compiled(cache).entries == {"k": "k"}
    assert cache.state().problem is not None
    cache.clear()
    kept = cache.keep_source("kernel.cu", "source")
    assert kept is not None and kept.read_text() == "source"
    kept.unlink()
    kept.parent.rmdir()


def test_a_full_disk_leaves_no_fragments(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put(KEY, b"payload")
    assert cache.get(KEY) is None and cache.state().entries == 0


def test_size_is_bounded_and_the_oldest_go(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=1000)
    keys = [hashlib.sha256(bytes([i])).hexdigest() for i in range(5)]
    for i, key in enumerate(keys):
        cache.put(key, b"x" * 268)  # 300 bytes with the checksum
        os.utime(cache.path(key), (i, i))
    cache.prune()
    assert [cache.get(key) is not None for key in keys] == [False, False, True, True, True]


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEGEN_CACHE_DIR", str(tmp_path))
    assert default_cache().directory == tmp_path
    monkeypatch.setenv("TILEGEN_CACHE_DIR", "")
    assert default_cache().directory.name == "tilegen"


def test_many_processes_at_once(tmp_path: Path) -> None:
    code = """
import sys, hashlib
from pathlib import Path
from tilegen.toolchain.cache import Cache
cache, me = Cache(Path(sys.argv[1]), max_bytes=60_000), int(sys.argv[2])
payloads = {hashlib.sha256(bytes([i])).hexdigest(): bytes([i]) * (1000 + 977 * i) for i in range(8)}
for turn in range(60):
    for key, payload in payloads.items():
        got = cache.get(key)
        assert got is None or got == payload, (len(got), len(payload))
        cache.put(key, payload)
        if turn % 20 == me:
            cache.path(key).write_bytes(b"damage")
        if turn % 7 == me:
            cache.prune()
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [subprocess.Popen([*command, str(me)], stderr=subprocess.PIPE) for me in range(4)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    assert not [path for path in tmp_path.rglob(".new-*")]
