import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilegen.target import target
from tilegen.toolchain import (
    Cache,
    CompileError,
    CompileOptions,
    ToolchainMissing,
    compile_source,
    compiler,
    default_target,
    nvrtc_version,
    sass,
    supported_architectures,
)
from tilegen.toolchain import nvrtc as nvrtc_module

SM_90 = target("sm_90")
COPY = """
template <class Index>
static __global__ void __launch_bounds__(256, 1) copy(const float* a, float* b, Index n) {
    const Index i = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}
"""


def test_one_compilation_gives_ptx_cubin_names_and_resources() -> None:
    done = compile_source(COPY, target=SM_90, entries=("copy<int>", "copy<long long>"), cache=None)
    assert done.entries == {"copy<int>": "_Z4copyIiEvPKfPfT_", "copy<long long>": "_Z4copyIxEvPKfPfT_"}
    assert ".target sm_90" in done.ptx
    assert '.file\t1 "kernel.cu"' in done.ptx
    assert done.cubin is not None and done.cubin.startswith(b"\x7fELF")
    used = done.resources_of("copy<int>")
    assert 0 < used.registers < 32
    assert (used.spill_store_bytes, used.spill_load_bytes, used.stack_bytes) == (0, 0, 0)
    assert (used.static_shared_bytes, used.barriers) == (0, 0)
    assert "Compile time" not in done.log


def test_without_cubin_there_are_no_resources() -> None:
    done = compile_source(COPY, target=SM_90, entries=("copy<int>",), want_cubin=False, cache=None)
    assert done.cubin is None and not done.resources and ".entry" in done.ptx


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        ("namespace tiles { namespace inner { %s } }", "tiles::inner::copy<int>"),
        ("namespace { %s }", "copy<int>"),
        ("namespace tiles { namespace { %s } }", "tiles::copy<int>"),
        ("%s", "copy<unsigned long long>"),
    ],
)
def test_name_expressions(source: str, entry: str) -> None:
    done = compile_source(source % COPY, target=SM_90, entries=(entry,), want_cubin=False, cache=None)
    assert f".entry {done.entries[entry]}(" in done.ptx


def test_extern_c_under_the_rtc_macro() -> None:
    source = '#ifdef __CUDACC_RTC__\nextern "C" __global__ void k(float* b) { b[0] = 1.0f; }\n#endif\n'
    assert compile_source(source, target=SM_90, entries=("k",), cache=None).entries == {"k": "k"}


def test_resources_of_spills_shared_memory_and_barriers() -> None:
    source = """
extern "C" __global__ void __launch_bounds__(1024, 1) k(double* b) {
    __shared__ double tile[1024];
    double r[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) r[i] = b[i * 1024 + threadIdx.x];
    tile[threadIdx.x] = r[5];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; ++i) b[i * 1024 + threadIdx.x] = r[63 - i] * r[i] + tile[1023 - threadIdx.x];
}"""
    used = compile_source(source, target=SM_90, entries=("k",), cache=None).resources_of("k")
    assert used.registers == 64  # report A8: 1024 threads get 64 registers each, so the launch fits
    assert used.spill_store_bytes > 0 and used.spill_load_bytes > 0 and used.stack_bytes > 0
    assert (used.static_shared_bytes, used.barriers) == (8192, 1)


def test_launch_bounds_keep_a_heavy_kernel_launchable() -> None:  # report A8
    loop = "\n#pragma unroll\nfor (int i = 0; i < 96; ++i) "
    body = f"double r[96];{loop}r[i] = b[i * 1024 + threadIdx.x];\n__syncthreads();"
    body += f"{loop}b[i * 1024 + threadIdx.x] = r[95 - i] * r[i];"
    free = f'extern "C" __global__ void k(double* b) {{ {body} }}'
    bound = f'extern "C" __global__ void __launch_bounds__(1024, 1) k(double* b) {{ {body} }}'
    per_block = SM_90.registers_per_block
    registers = [
        compile_source(source, target=SM_90, entries=("k",), cache=None).resources_of("k").registers
        for source in (free, bound)
    ]
    assert registers[0] * 1024 > per_block >= registers[1] * 1024


def test_most_registers_can_be_capped() -> None:
    options = CompileOptions(max_registers=24)
    used = compile_source(COPY, target=SM_90, entries=("copy<int>",), options=options, cache=None)
    assert used.resources_of("copy<int>").registers <= 24


def test_defines_and_warnings() -> None:
    source = 'extern "C" __global__ void k(float* b) { int unused; b[0] = VALUE; }'
    done = compile_source(
        source, target=SM_90, entries=("k",), options=CompileOptions(defines=("VALUE=2.0f",)), cache=None
    )
    assert 'kernel.cu(1): warning #177-D: variable "unused" was declared but never referenced' in done.log


def test_nothing_flushes_to_zero_unless_asked() -> None:  # report O5
    source = 'extern "C" __global__ void k(float* b) { b[0] = b[0] * 0.5f / b[1]; }'
    plain = compile_source(source, target=SM_90, entries=("k",), cache=None).ptx
    fast = compile_source(
        source, target=SM_90, entries=("k",), options=CompileOptions(fast_math=True), cache=None
    ).ptx
    assert "ftz" not in plain and "approx" not in plain and "div.rn.f32" in plain
    assert "ftz" in fast


@pytest.mark.parametrize("header", ["cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"])
def test_headers_of_the_wheels_are_found(header: str, monkeypatch: pytest.MonkeyPatch) -> None:  # report O1
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    (folder,) = nvrtc_module.include_paths(nvrtc_version()[0])
    assert "site-packages" in folder.parts
    source = f'#include <{header}>\nextern "C" __global__ void k(float* b) {{ b[0] = 1.0f; }}'
    assert compile_source(source, target=SM_90, entries=("k",), cache=None).entries == {"k": "k"}


def test_a_missing_cuda_header_says_where_it_was_looked_for(
    cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # report O1
    monkeypatch.setattr(nvrtc_module, "searched_paths", lambda major: (tmp_path / "one", tmp_path / "two"))
    with pytest.raises(ToolchainMissing) as raised:
        compile_source("#include <cuda_fp16.h>\n" + COPY, target=SM_90, entries=("copy<int>",), cache=cache)
    text = str(raised.value)
    assert "CUDA header 'cuda_fp16.h' is not found; searched " in text
    assert str(tmp_path / "one") in text and str(tmp_path / "two") in text
    assert "pip install 'nvidia-cuda-runtime" in text
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("header", ["stdio.h", "cstdint"])
def test_a_header_of_the_host_is_explained(cache: Cache, header: str) -> None:  # report O1
    with pytest.raises(
        CompileError, match=f"header '{header}' is not found: NVRTC compiles device code only"
    ):
        compile_source(f"#include <{header}>\n" + COPY, target=SM_90, entries=("copy<int>",), cache=cache)


def test_include_under_an_untaken_branch_is_not_needed(cache: Cache) -> None:
    source = "#ifndef __CUDACC_RTC__\n#include <nowhere.h>\n#endif\n" + COPY
    compile_source(source, target=SM_90, entries=("copy<int>",), cache=cache)


def test_an_architecture_nvrtc_does_not_know_lists_those_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # report O3
    monkeypatch.setattr(nvrtc_module, "supported_architectures", lambda: ("sm_80", "sm_90"))
    with pytest.raises(
        ToolchainMissing, match="does not compile for sm_120; it supports sm_80, sm_90"
    ) as raised:
        compile_source(COPY, target=target("sm_120"), entries=("copy<int>",), cache=None)
    assert "choose sm_90, whose PTX the driver compiles for newer devices" in str(raised.value)
    with pytest.raises(ToolchainMissing, match=r"sm_50(.|\n)*tilegen\[cuda12\]"):
        compile_source(COPY, target=target("sm_50"), entries=("copy<int>",), cache=None)


def test_default_target_is_what_the_device_and_nvrtc_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # report O3
    monkeypatch.setattr(nvrtc_module, "supported_architectures", lambda: ("sm_80", "sm_90", "sm_107"))
    for capability, expected in [(None, "sm_90"), ((9, 0), "sm_90"), ((8, 6), "sm_80"), ((12, 0), "sm_90")]:
        monkeypatch.setattr(nvrtc_module, "device_capability", lambda capability=capability: capability)
        assert default_target().name == expected
    monkeypatch.setattr(nvrtc_module, "device_capability", lambda: (5, 0))
    with pytest.raises(ToolchainMissing, match="older than the installed NVRTC"):
        default_target()


def test_supported_architectures_hold_the_default() -> None:
    assert "sm_90" in supported_architectures()


def test_architecture_specific_target() -> None:
    ptx = compile_source(COPY, target=target("sm_90a"), entries=("copy<int>",), cache=None).ptx
    assert ".target sm_90a" in ptx


def test_static_shared_memory_over_the_limit_quotes_both(cache: Cache) -> None:  # report F1
    source = """extern "C" __global__ void k(double* b) {
    __shared__ double tile[80][81];
    tile[threadIdx.x][threadIdx.y] = b[0];
    __syncthreads();
    b[1] = tile[threadIdx.y][0];
}"""
    with pytest.raises(
        CompileError, match="kernel 'k' declares 51840 bytes of static shared memory; the limit is 49152"
    ):
        compile_source(source, target=SM_90, entries=("k",), cache=cache)


def test_a_refused_source_is_kept_and_named(cache: Cache) -> None:
    with pytest.raises(CompileError) as raised:
        compile_source(
            "int x = ;", target=SM_90, entries=("k",), name="bad.cu", spec="transpose", cache=cache
        )
    error = raised.value
    assert error.source_path is not None and error.source_path.read_text() == "int x = ;"
    assert "internal error: NVRTC does not compile 'bad.cu' for spec 'transpose'" in str(error)
    assert str(error.source_path) in str(error)
    assert "bad.cu(1): error: expected an expression" in error.log


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_non_ascii_everywhere_but_in_identifiers(tmp_path: Path, locale: str) -> None:  # report P4
    folder = tmp_path / "größe ∑"
    folder.mkdir()
    code = """
from tilegen.target import target
from tilegen.toolchain import compile_source
source = '// Länge × Breite ∑\\n#include <cuda_fp16.h>\\nextern "C" __global__ void k(__half* b) { b[0] = b[1]; }'
for again in (False, True):
    done = compile_source(source, target=target("sm_90"), entries=("k",), name="größe.cu")
    assert done.cached is again and done.ptx.isascii(), done.ptx
"""
    environment = {**os.environ, "LC_ALL": locale, "LANG": locale, "TILEGEN_CACHE_DIR": str(folder)}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    environment.pop("PYTHONUTF8", None)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=environment)


def test_non_ascii_identifier_names_the_line(cache: Cache) -> None:  # report P4
    with pytest.raises(CompileError, match=r"kernel\.cu\(2\): error: unrecognized token"):
        compile_source("\n__device__ int größe;", target=SM_90, entries=(), cache=cache)


def test_ptx_does_not_depend_on_folder_or_process(tmp_path: Path) -> None:
    code = (
        "import hashlib, sys\nfrom tilegen.target import target\nfrom tilegen.toolchain import compile_source\n"
        f"done = compile_source({COPY!r}, target=target('sm_90'), entries=('copy<int>',), cache=None)\n"
        "print(hashlib.sha256(done.ptx.encode()).hexdigest(), hashlib.sha256(done.cubin).hexdigest())"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    runs = set()
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", code]
        runs.add(
            subprocess.run(
                command, check=True, cwd=tmp_path / name, env=environment, capture_output=True
            ).stdout
        )
    assert len(runs) == 1


@pytest.mark.skipif(compiler.nvdisasm_path() is None, reason="nvdisasm comes with tilegen[sass]")
def test_sass_of_a_vector_copy() -> None:
    source = """
struct alignas(16) Vector { unsigned char lane[16]; };
extern "C" __global__ void k(const unsigned char* __restrict__ a, unsigned char* __restrict__ b) {
    const int i = threadIdx.x * 16;
    *reinterpret_cast<Vector*>(b + i) = *reinterpret_cast<const Vector*>(a + i);
}"""
    done = compile_source(source, target=SM_90, entries=("k",), cache=None)
    assert "ld.global.nc.v4.u32" in done.ptx and "st.global.v4.u32" in done.ptx
    assert done.cubin is not None
    text = sass(done.cubin)
    assert text.count("LDG.E.128") == text.count("STG.E.128") == 1


def test_sass_without_nvdisasm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "nvdisasm_path", lambda: None)
    with pytest.raises(ToolchainMissing, match=r"pip install 'tilegen\[sass\]'"):
        sass(b"")


def test_importing_the_toolchain_imports_no_cupy() -> None:
    code = "import sys, tilegen.toolchain, tilegen.toolchain.doctor; assert 'cupy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_cupy_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["cupy"] = sys.modules["cupy.cuda"] = None
from tilegen.target import target
from tilegen.toolchain import ToolchainMissing, compile_source, default_target
try:
    compile_source("", target=target("sm_90"), entries=())
except ToolchainMissing as error:
    assert "CuPy" in str(error) and "pip install 'tilegen[cuda13]'" in str(error), error
else:
    raise SystemExit("no error")
assert default_target().name == "sm_90"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
