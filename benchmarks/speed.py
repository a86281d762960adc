"""Speed of generated kernels on this GPU against a copy, torch and CuPy, in one process.

    python benchmarks/speed.py [--rows WORD,…] [--schedule 'tile i = 64, j = 64; stage a swizzle; vector 4'] [--compile]
                               [--out speed.json] [--samples 30]

Method: every launch is timed by CUDA events; kernel, copy and rivals alternate; medians with p20 and p80; the share is
the median time of an equal-size device-to-device copy over the kernel's. Outputs are poisoned first and compared with
torch's afterwards. A row whose result is wrong has no time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any

try:
    import cupy
    import numpy as np
    import torch
except ImportError as error:
    sys.exit(
        f"this needs a GPU, CuPy and torch ({error}): pip install torch, and tilegen with its extra cuda13"
    )
from speed_rows import ROWS, Row

import tilegen
from tilegen.check import check
from tilegen.parse import parse, source_from_text
from tilegen.program import build
from tilegen.spec import ScheduleSpec
from tilegen.target import target
from tilegen.toolchain import compile_source

_TORCH = {
    "f32": torch.float32,
    "f16": torch.float16,
    "f64": torch.float64,
    "i8": torch.int8,
    "u8": torch.uint8,
}
RIVALS = ("torch", "torch.compile", "cupy")
TARGET = target("sm_" + cupy.cuda.Device(0).compute_capability)


def prepare(row: Row, directives: str | None) -> tuple[Callable[[], None], list[Any], list[Any], str, Any]:
    """A launch of the kernel, its inputs and outputs (torch), the schedule in words, and the compiler's report."""
    text = row.spec
    if directives is not None:
        text = text.rstrip().removesuffix("}") + f"\n schedule chosen {{ {directives} }} }}"
    family = check(parse(source_from_text(text))).kernels[0]
    kernel = family.kernels[0]
    schedule: ScheduleSpec | None = family.schedules[0] if directives is not None else None
    program = build(kernel, schedule, TARGET, sizes=row.sizes)
    arrays: dict[str, Any] = {}
    pointers: dict[str, int] = {}
    inputs, outputs = [], []
    for tensor in kernel.tensors:
        element = tensor.element
        fields = getattr(element, "fields", ())
        dtype = _TORCH[str(fields[0].dtype if fields else element)]
        shape = [int(e.constant if e.constant is not None else row.sizes[str(e)]) for e in tensor.extents]
        soa = fields and any(p.field for p in program.nest.pointers if p.tensor == tensor.name)
        shape = [len(fields), *shape] if soa else [*shape, len(fields)] if fields else shape
        if tensor.role.value == "in":
            array = random_tensor(shape, dtype)
            inputs.append((tensor.name, array))
        else:
            array = torch.empty(shape, dtype=dtype, device="cuda").view(torch.uint8).fill_(0x77).view(dtype)
            outputs.append((tensor.name, array))
        arrays[tensor.name] = array
        for p in program.nest.pointers:
            if p.tensor == tensor.name:
                part = array[[f.name for f in fields].index(p.field)] if p.field else array
                pointers[p.name] = part.data_ptr()
    shape = program.shape(row.sizes, {}, pointers)
    assert shape is not None
    compiled = compile_source(program.source, target=TARGET, entries=(shape.entry,))
    module = cupy.cuda.function.Module()
    module.load(compiled.cubin)
    function = module.get_function(compiled.entries[shape.entry])
    if shape.dynamic_shared:
        cupy.cuda.driver.funcSetAttribute(function.ptr, 8, shape.dynamic_shared)
    number = np.int32 if shape.index == "int" else np.int64
    values = {**program.nest.constants, **row.sizes}
    arguments = tuple(
        np.uint64(pointers[p.key]) if p.kind == "pointer" else number(values[p.key]) for p in shape.parameters
    )

    def launch() -> None:
        function((shape.blocks, 1, 1), (shape.threads, 1, 1), arguments, shape.dynamic_shared)

    launch.module = module  # type: ignore[attr-defined]
    return launch, inputs, outputs, program.schedule.describe(), (shape, compiled.resources_of(shape.entry))


def random_tensor(shape: list[int], dtype: Any) -> Any:
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)
    return torch.randint(-100 if dtype is torch.int8 else 0, 100, shape, dtype=dtype, device="cuda")


def timed(work: dict[str, Callable[[], Any]], samples: int) -> dict[str, list[float]]:
    """Milliseconds of each piece of work, interleaved."""
    for _ in range(3):
        for run in work.values():
            run()
    torch.cuda.synchronize()
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in work}
    for _ in range(samples):
        for name, run in work.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            events[name].append((start, end))
    torch.cuda.synchronize()
    return {name: [s.elapsed_time(e) for s, e in pairs] for name, pairs in events.items()}


def as_graph(run: Callable[[], Any], times: int = 20) -> Callable[[], Any]:
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
        run()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(times):
                run()
    return graph.replay


def measure(
    row: Row, directives: str | None, samples: int, rivals: bool, compiled_rival: bool
) -> dict[str, Any]:
    launch, inputs, outputs, words, (shape, resources) = prepare(row, directives)
    source = inputs[0][1]
    target_ = torch.empty_like(source)
    names = dict(inputs)
    expression = compile(row.torch, row.name, "eval")

    def eager() -> Any:
        outputs_like.copy_(eval(expression, {}, names))
        return None

    launch()
    torch.cuda.synchronize()
    want = eval(expression, {}, names)
    got = outputs[0][1]
    right = bool(torch.equal(got.view(want.shape), want))
    result: dict[str, Any] = {
        "row": row.name,
        "schedule": words,
        "right": right,
        "registers": resources.registers,
        "spills": resources.spill_load_bytes,
        "blocks": shape.blocks,
        "threads": shape.threads,
        "index": shape.index,
        "entry": shape.entry,
        "goal": row.goal,
    }
    if not right:
        return result
    work: dict[str, Callable[[], Any]] = {"copy": lambda: target_.copy_(source), "tilegen": launch}
    if rivals:
        outputs_like = torch.empty(want.shape, dtype=want.dtype, device="cuda")
        work["torch"] = eager
        words = row.torch.replace(".t()", ".T").replace(".permute(", ".transpose(")
        views = {name: cupy.asarray(array) for name, array in inputs}
        result_view = cupy.asarray(outputs_like)
        work["cupy"] = lambda: cupy.copyto(result_view, eval(words, {}, views))
        if compiled_rival:
            torch._dynamo.reset()
            function = torch.compile(lambda x: eval(expression, {}, {inputs[0][0]: x}).contiguous() + 0)
            work["torch.compile"] = lambda: function(source)
    if row.graph:
        work = {name: as_graph(run) for name, run in work.items() if name != "torch.compile"}
    times = timed(work, samples)
    moved = 2 * source.numel() * source.element_size()
    for name, values in times.items():
        cut = quantiles(values, n=5)
        result[name] = {"ms": median(values), "p20": cut[0], "p80": cut[3]}
    result["share"] = result["copy"]["ms"] / result["tilegen"]["ms"]
    result["copy_tbs"] = moved / result["copy"]["ms"] / 1e9 * (20 if row.graph else 1)
    return result


def table(results: list[dict[str, Any]]) -> str:
    """The results as Markdown, with what they were measured on."""
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    driver = cupy.cuda.runtime.driverGetVersion()
    lines = [
        "# Speed",
        "",
        f"Measured {time.strftime('%Y-%m-%d')} with tilegen {tilegen.__version__} on one "
        f"{properties['name'].decode()} "
        f"(CUDA driver {driver}, torch {torch.__version__}, CuPy {cupy.__version__}) by `python benchmarks/speed.py`.",
        "",
        "Each number is the time of an equal-size device-to-device copy in the same process over that of the kernel",
        "(medians; 1 is as fast as a copy). `goal` is what the project set itself.",
        "",
        "| work | tilegen `auto` | goal | " + " | ".join(RIVALS) + " | copy TB/s | registers | schedule |",
        "| --- | --- | --- | " + "--- | " * len(RIVALS) + "--- | --- | --- |",
    ]
    for r in results:
        if not r["right"]:
            lines.append(f"| {r['row']} | wrong result | {r['goal'] or ''} |" + " |" * (len(RIVALS) + 3))
            continue
        shares = [f"{r['copy']['ms'] / r[n]['ms']:.2f}" if n in r else "-" for n in RIVALS]
        goal = f"{r['goal']:.2f}" if r["goal"] else "-"
        lines.append(
            f"| {r['row']} | {r['share']:.3f} | {goal} | {' | '.join(shares)} | {r['copy_tbs']:.2f} | {r['registers']} "
            f"| `{r['schedule']}` |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="")
    parser.add_argument("--schedule", action="append", default=[])
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="write a Markdown table")
    options = parser.parse_args()
    words = [w for w in options.rows.split(",") if w]
    results = []
    for row in ROWS:
        if words and not any(w in row.name for w in words):
            continue
        for directives in [None, *options.schedule]:
            begun = time.time()
            try:
                result = measure(
                    row,
                    directives,
                    options.samples,
                    not options.no_rivals and directives is None,
                    options.compile,
                )
            except Exception as error:
                if directives is None:
                    raise
                print(f"{row.name}: {directives}: {str(error).splitlines()[0]}", flush=True)
                continue
            torch.cuda.empty_cache()
            results.append(result)
            if not result["right"]:
                print(f"{row.name:44} WRONG  [{result['schedule']}]", flush=True)
                continue
            rivals = " ".join(
                f"{n} {result['copy']['ms'] / result[n]['ms']:.2f}" for n in RIVALS if n in result
            )
            goal = f"goal {row.goal}" if row.goal else ""
            print(
                f"{row.name:44} {result['share']:.3f} of copy ({result['copy_tbs']:.2f} TB/s) {goal} {rivals}"
                f" | {result['registers']} regs {result['index']} | {result['schedule']} | {time.time() - begun:.1f}s",
                flush=True,
            )
    if options.table:
        options.table.write_text(table(results))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(0 if all(r["right"] for r in results) else 1)


if __name__ == "__main__":
    main()
