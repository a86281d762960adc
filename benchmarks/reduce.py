"""Speed of generated reductions, row operators and scans on this GPU, against a copy, torch, torch.compile and CuPy.

    python benchmarks/reduce.py [--rows WORD]… [--compile] [--out reduce.json] [--table reduce.md] [--samples 30]

Method as in benchmarks/speed.py. The copy moves as many bytes as the work must: half of them read, half written. All
work takes several copies of its arrays in turn: what one launch leaves in the L2 is no help to the next.
Results are compared with torch's in float64 before anything is timed; a wrong one has no time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

try:
    import cupy
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(
        f"this needs a GPU, CuPy and torch ({error}): pip install torch, and tilegen with its extra cuda13"
    )
import numpy as np
from reduce_rows import ROWS, Row
from speed_work import LEAST_COPIES, TARGET, loaded, summary, timed

import tilegen
from tilegen.algebra import evaluate
from tilegen.core.schedule.directives import schedule_lines
from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Kernel, Role
from tilegen.program import Program, build

_TORCH = {
    "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
    "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8,
}  # fmt: skip
# How far a result may be from torch's in float64, of the largest magnitude: a few roundings of the stored type.
_WITHIN = {torch.float32: 2e-5, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}
_ROWS_COMPARED = 256


def kernel_of(row: Row) -> Kernel:
    family = check(parse(source_from_text(row.spec))).kernels[0]
    return next(k for k in family.kernels if row.type is None or dict(k.types)["T"].name == row.type)


def arrays_of(row: Row, kernel: Kernel) -> dict[str, Any]:
    """Random inputs and poisoned outputs by name."""
    found = {}
    for tensor in kernel.tensors:
        shape = [int(evaluate(e, row.sizes)) for e in tensor.extents]
        dtype = _TORCH[str(tensor.element)]
        if tensor.role is Role.OUT:
            found[tensor.name] = torch.empty(shape, dtype=dtype, device="cuda")
            found[tensor.name].view(-1).view(torch.uint8).fill_(0x77)
        elif row.equal:
            found[tensor.name] = torch.full(shape, 77, dtype=dtype, device="cuda")
        elif dtype.is_floating_point:
            found[tensor.name] = torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)
        else:
            found[tensor.name] = torch.randint(0, 256, shape, dtype=dtype, device="cuda")
    return found


def launch_of(program: Program, row: Row, arrays: dict[str, Any]) -> tuple[Any, Any]:
    """(launch, shape): the kernel that fits the arrays, loaded, with scratch memory of its own."""
    shape = program.shape(row.sizes, {}, {n: a.data_ptr() for n, a in arrays.items()})
    assert shape is not None
    function, module, resources = loaded(program, shape)
    scratch = {s.name: torch.empty(s.bytes, dtype=torch.uint8, device="cuda") for s in shape.scratch}
    zeroed = [scratch[s.name] for s in shape.scratch if s.zeroed]
    number = np.int32 if shape.index == "int" else np.int64
    values = {**program.nest.constants, **row.sizes}
    scalars = {s.name: np.float32(s.default) for s in program.kernel.scalars}
    arguments = []
    for p in shape.parameters:
        match p.kind:
            case "pointer":
                arguments.append(np.uint64(arrays[p.key].data_ptr()))
            case "scratch":
                arguments.append(np.uint64(scratch[p.key].data_ptr()))
            case "scalar":
                arguments.append(scalars[p.key])
            case _:
                arguments.append(number(values[p.key]))

    def run(kept: Any = module) -> None:
        for memory in zeroed:
            cupy.cuda.runtime.memsetAsync(memory.data_ptr(), 0, memory.numel(), 0)
        function((shape.blocks, 1, 1), (shape.threads, 1, 1), tuple(arguments), shape.dynamic_shared)

    return run, (shape, resources)


def wanted(row: Row, arrays: dict[str, Any], output: Any, wide: bool) -> Any:
    """torch's result; `wide`: of a part of the rows, in float64."""
    names = {n: a for n, a in arrays.items() if a is not output}
    if wide:
        names = {n: (a.double() if a.is_floating_point() else a) for n, a in names.items()}
    return eval(row.torch, {"torch": torch, "F": F}, names)


def right(row: Row, kernel: Kernel, arrays: dict[str, Any], run: Any) -> bool:
    """Whether the output is what torch makes of the inputs in float64: of some rows where rows are independent."""
    (output,) = (arrays[t.name] for t in kernel.tensors if t.role is Role.OUT)
    output.view(-1).view(torch.uint8).fill_(0x77)
    run()
    torch.cuda.synchronize()
    if "R" in row.sizes and row.sizes["R"] > 2 * _ROWS_COMPARED:
        for part in (slice(0, _ROWS_COMPARED), slice(-_ROWS_COMPARED, None)):
            some = {
                n: (a[part].contiguous() if a.shape[:1] == (row.sizes["R"],) else a)
                for n, a in arrays.items()
            }
            want = wanted(row, {n: a for n, a in some.items() if arrays[n] is not output}, None, True)
            if not close(output[part], want):
                return False
        return True
    return close(output, wanted(row, arrays, output, True), max(row.sizes.values()))


def close(got: Any, want: Any, terms: int = 1) -> bool:
    if not got.is_floating_point():
        return bool(torch.equal(got.long(), want.long()))
    scale = max(1.0, float(want.abs().max()), terms**0.5)
    return bool((got.double() - want).abs().max() <= _WITHIN[got.dtype] * scale)


def rivals_of(row: Row, kernel: Kernel, copies: Sequence[dict[str, Any]], compiled: bool) -> dict[str, Any]:
    (output,) = (t.name for t in kernel.tensors if t.role is Role.OUT)
    inputs = [{n: a for n, a in arrays.items() if n != output} for arrays in copies]
    code = compile(row.torch, row.name, "eval")

    def in_turn(call: Callable[..., Any], sets: Sequence[dict[str, Any]]) -> Callable[[], Any]:
        turns = cycle(sets)
        return lambda: call(**next(turns))

    def expressed(**names: Any) -> Any:
        return eval(code, {"torch": torch, "F": F}, names)

    found = {"torch": in_turn(expressed, inputs)}
    if compiled:
        torch._dynamo.reset()
        made = f"def f({', '.join(inputs[0])}):\n    return {row.torch}\n"
        scope: dict[str, Any] = {"torch": torch, "F": F}
        exec(made, scope)
        function = torch.compile(scope["f"], dynamic=False)
        found["torch.compile"] = in_turn(function, inputs)
    if row.cupy is not None:
        views = [{n: cupy.asarray(a) for n, a in arrays.items()} for arrays in inputs]
        expression = row.cupy
        found["cupy"] = in_turn(lambda **names: eval(expression, {"cupy": cupy}, names), views)
    return found


def measure(
    row: Row, samples: int, compiled: bool, rivals: bool, program: Program | None = None
) -> dict[str, Any]:
    kernel = kernel_of(row)
    program = program or build(kernel, None, TARGET, sizes=row.sizes)
    copies = [arrays_of(row, kernel) for _ in range(LEAST_COPIES)]
    launches = [launch_of(program, row, arrays) for arrays in copies]
    run, (shape, resources) = launches[0]
    total = sum(a.numel() * a.element_size() for a in copies[0].values())
    result: dict[str, Any] = {
        "row": row.name,
        "schedule": "; ".join(schedule_lines(program.schedules)),
        "right": right(row, kernel, copies[0], run),
        "registers": resources.registers,
        "spills": resources.spill_load_bytes,
        "blocks": shape.blocks,
        "threads": shape.threads,
        "index": shape.index,
        "entry": shape.entry,
        "bytes": total,
        "goal": row.goal,
    }
    if not result["right"]:
        return result
    halves = [torch.ones(total // 2, dtype=torch.uint8, device="cuda") for _ in range(2 * LEAST_COPIES)]
    pairs, turns = cycle(zip(halves[::2], halves[1::2], strict=True)), cycle(launches)
    work: dict[str, Any] = {
        "copy": lambda: torch.Tensor.copy_(*next(pairs)),
        "tilegen": lambda: next(turns)[0](),
    }
    work |= rivals_of(row, kernel, copies, compiled) if rivals else {}
    for name, values in timed(work, samples).items():
        result[name] = summary(values)
    result["share"] = result["copy"]["ms"] / result["tilegen"]["ms"]
    result["copy_tbs"] = total / result["copy"]["ms"] / 1e9
    return result


RIVALS = ("torch", "torch.compile", "cupy")


def table(results: list[dict[str, Any]]) -> str:
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    lines = [
        "# Speed of reductions, row operators and scans",
        "",
        f"Measured {time.strftime('%Y-%m-%d')} with tilegen {tilegen.__version__} on one "
        f"{properties['name'].decode()} (CUDA driver {cupy.cuda.runtime.driverGetVersion()}, "
        f"torch {torch.__version__}, CuPy {cupy.__version__}) by `python benchmarks/reduce.py`.",
        "",
        "Each number is the time of a device-to-device copy of as many bytes in the same process over that of the",
        "kernel (medians). Reading alone is faster than copying, so reductions may pass 1.",
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
            f"| {r['schedule']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", action="append", default=[], metavar="WORD")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--compile", action="store_true", help="torch.compile as a rival too")
    parser.add_argument("--no-rivals", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="write a Markdown table")
    options = parser.parse_args()
    results = []
    for row in ROWS:
        if not row.named(options.rows):
            continue
        begun = time.time()
        result = measure(row, options.samples, options.compile, not options.no_rivals)
        torch.cuda.empty_cache()
        results.append(result)
        if not result["right"]:
            print(f"{row.name:46} WRONG  [{result['schedule']}]", flush=True)
            continue
        rivals = " ".join(f"{n} {result['copy']['ms'] / result[n]['ms']:.2f}" for n in RIVALS if n in result)
        print(
            f"{row.name:46} {result['share']:.3f} goal {row.goal} {rivals} | {result['registers']} regs "
            f"{result['index']} | {result['schedule']} | {time.time() - begun:.1f}s",
            flush=True,
        )
    if options.table:
        options.table.write_text(table(results))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")
    sys.exit(0 if all(r["right"] for r in results) else 1)


if __name__ == "__main__":
    main()
