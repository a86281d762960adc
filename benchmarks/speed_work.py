"""The work of a row as things to time: its arrays, launches of generated kernels, the copy, the rivals.

Arrays come in several copies that are used in turn, small ones in more than make up 256 MB, so that none of the work
finds its data in the L2. Every result is compared with torch's before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import cycle
from statistics import median, quantiles
from typing import Any

import cupy
import cupy.cublas
import numpy as np
import torch
from speed_rows import Row

from tilegen.lang.check import check
from tilegen.lang.parse import parse, source_from_text
from tilegen.lang.spec import Kernel, KernelFamily, Role
from tilegen.program import LaunchShape, Program
from tilegen.target import target
from tilegen.toolchain import compile_source

TARGET = target("sm_" + cupy.cuda.Device(0).compute_capability)
ROTATED_BYTES = 256_000_000
LEAST_COPIES = 3
_TORCH = {
    "f32": torch.float32,
    "f16": torch.float16,
    "f64": torch.float64,
    "i8": torch.int8,
    "u8": torch.uint8,
}
Work = Callable[[], Any]


def family_of(row: Row, directives: str | None = None) -> KernelFamily:
    """The kernel of a row, with a schedule `chosen` of these directives."""
    text = row.spec
    if directives is not None:
        text = text.rstrip().removesuffix("}") + f"\n schedule chosen {{ {directives} }} }}"
    return check(parse(source_from_text(text))).kernels[0]


@dataclass(frozen=True, slots=True)
class Data:
    """Copies of a row's input and output, and what the output must be for the first and the last of them."""

    row: Row
    input: str
    sources: tuple[Any, ...]
    results: tuple[Any, ...]

    @property
    def copies(self) -> int:
        return len(self.sources)

    def wanted(self, source: Any) -> Any:
        return eval(self.row.torch, {}, {self.input: source})

    def poison(self) -> None:
        for result in self.results:
            result.view(torch.uint8).fill_(0x77)

    def right(self, run: Work) -> bool:
        """Whether `run`, once for every copy, gives what torch gives. The results are poisoned first."""
        self.poison()
        for _ in self.sources:
            run()
        torch.cuda.synchronize()
        ends = {0, self.copies - 1}
        return all(
            torch.equal(self.results[n].view(want.shape), want)
            for n in ends
            for want in [self.wanted(self.sources[n])]
        )


def data_of(row: Row, kernel: Kernel) -> Data:
    """Random input and room for the output, as many copies as `ROTATED_BYTES` asks for."""
    dtype = _TORCH[row.dtype]
    (source,) = (t for t in kernel.tensors if t.role is Role.IN)
    extents = [int(e.constant if e.constant is not None else row.sizes[str(e)]) for e in source.extents]
    shape = [*extents, row.members] if row.members > 1 else extents
    count = max(LEAST_COPIES, -(-ROTATED_BYTES * 2 // row.bytes))
    sources = tuple(random_tensor(shape, dtype) for _ in range(count))
    want = eval(row.torch, {}, {source.name: sources[0]}).shape
    return Data(
        row, source.name, sources, tuple(torch.empty(want, dtype=dtype, device="cuda") for _ in sources)
    )


def random_tensor(shape: list[int], dtype: Any) -> Any:
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)
    return torch.randint(-100 if dtype is torch.int8 else 0, 100, shape, dtype=dtype, device="cuda")


# Generated kernels


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel loaded for a row's arrays. `run` launches it on the next of them."""

    run: Work
    shape: LaunchShape
    resources: Any


def addresses(program: Program, data: Data, copy: int) -> dict[str, int]:
    """Addresses by pointer name; the members of a struct that have an array each lie one after another."""
    found = {}
    for p in program.nest.pointers:
        array = data.sources[copy] if p.tensor == data.input else data.results[copy]
        if p.field:
            fields = [f.name for f in program.kernel.tensor(p.tensor).element.fields]  # type: ignore[union-attr]
            array = array[fields.index(p.field)]
        found[p.name] = array.data_ptr()
    return found


def shape_of(program: Program, row: Row, pointers: Mapping[str, int]) -> LaunchShape:
    shape = program.shape(row.sizes, {}, pointers)
    assert shape is not None
    return shape


def loaded(program: Program, shape: LaunchShape) -> tuple[Any, Any, Any]:
    """(function, module that must live as long, resources) of the variant that `shape` chose."""
    compiled = compile_source(program.source, target=TARGET, entries=(shape.entry,))
    module = cupy.cuda.function.Module()
    module.load(compiled.cubin)
    function = module.get_function(compiled.entries[shape.entry])
    if shape.dynamic_shared:
        cupy.cuda.driver.funcSetAttribute(function.ptr, 8, shape.dynamic_shared)
    return function, module, compiled.resources_of(shape.entry)


def kernel_of(program: Program, data: Data) -> Launch:
    """Compile and load the variant of `program` that fits the row's arrays."""
    row = data.row
    shape = shape_of(program, row, addresses(program, data, 0))
    function, module, resources = loaded(program, shape)
    number = np.int32 if shape.index == "int" else np.int64
    values = {**program.nest.constants, **row.sizes}
    turns = cycle(
        tuple(
            np.uint64(pointers[p.key]) if p.kind == "pointer" else number(values[p.key])
            for p in shape.parameters
        )
        for copy in range(data.copies)
        for pointers in [addresses(program, data, copy)]
    )

    def run(kept: Any = module) -> None:
        function((shape.blocks, 1, 1), (shape.threads, 1, 1), next(turns), shape.dynamic_shared)

    return Launch(run, shape, resources)


# The copy and the rivals


def copy_of(data: Data) -> Work:
    """The device-to-device copy of as many bytes."""
    pairs = cycle([(r.view(-1), s.view(-1)) for r, s in zip(data.results, data.sources, strict=True)])

    def run() -> None:
        result, source = next(pairs)
        result.copy_(source)

    return run


def rivals_of(data: Data, compiled: bool) -> dict[str, Work]:
    """What else does the same work here, into the same arrays. `compiled`: torch.compile as well."""
    row, expression = data.row, compile(data.row.torch, data.row.name, "eval")
    pairs = list(zip(data.results, data.sources, strict=True))
    words = row.torch.replace(".t()", ".T").replace(".permute(", ".transpose(")

    def in_turn(call: Callable[[Any, Any], Any], pairs: list[tuple[Any, Any]]) -> Work:
        turns = cycle(pairs)
        return lambda: call(*next(turns))

    def expressed(result: Any, source: Any) -> None:
        result.copy_(eval(expression, {}, {data.input: source}))

    views = [(cupy.asarray(r), cupy.asarray(s)) for r, s in pairs]
    found = {
        "torch": in_turn(expressed, pairs),
        "cupy": in_turn(lambda r, s: cupy.copyto(r, eval(words, {}, {data.input: s})), views),
    }
    if row.torch == "a.t()" and row.dtype in ("f32", "f64"):
        # A row-major M x N array is a column-major N x M matrix.
        found["geam"] = in_turn(lambda r, s: cupy.cublas.geam("T", "N", 1.0, s.T, 0.0, r.T, r.T), views)
    permutation = cutensor_permutation(data)
    if permutation is not None:
        found["cuTENSOR"] = in_turn(permutation, views)
    if compiled:
        # A function of its own for each row; `+ 0` makes it a kernel of the compiler's, not a copy of the library's.
        function = eval(f"lambda result, {data.input}: result.copy_({row.torch} + 0)")
        found["torch.compile"] = in_turn(torch.compile(function, dynamic=False), pairs)
    return found


def cutensor_permutation(data: Data) -> Callable[[Any, Any], Any] | None:
    """The permutation by cuTENSOR, as a product with 1; None where it is not installed or the row is none."""
    try:
        from cupyx import cutensor
    except (ImportError, RuntimeError):
        return None
    source = data.sources[0]
    rank = source.dim()
    numbers = torch.arange(2**rank).view((2,) * rank)
    strides = data.wanted(numbers).stride()
    order = [numbers.stride().index(s) for s in strides]
    if source.dtype not in (torch.float16, torch.float32, torch.float64) or order == sorted(order):
        return None
    modes, wanted = tuple(range(rank)), tuple(order)

    def run(result: Any, array: Any) -> None:
        cutensor.elementwise_binary(1.0, array, modes, 0.0, result, wanted, out=result)

    return run


# Time


def timed(work: Mapping[str, Work], samples: int, warm: int = 5) -> dict[str, list[float]]:
    """Milliseconds of each piece of work, interleaved.

    Before each, something else is read: else one would find its input in the L2 because the one before it had the same,
    and another would write back what the copy before it has left there."""
    other = torch.ones(ROTATED_BYTES // 4, dtype=torch.float32, device="cuda")
    for _ in range(warm):
        for run in work.values():
            run()
    torch.cuda.synchronize()
    events: dict[str, list[tuple[Any, Any]]] = {name: [] for name in work}
    for _ in range(samples):
        for name, run in work.items():
            other.sum()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            events[name].append((start, end))
    torch.cuda.synchronize()
    return {name: [s.elapsed_time(e) for s, e in pairs] for name, pairs in events.items()}


def summary(values: list[float]) -> dict[str, float]:
    cut = quantiles(values, n=5)
    return {"ms": median(values), "p20": cut[0], "p80": cut[3]}


class _Shared:
    """A torch stream as CuPy takes it: CUDA's protocol for streams of others."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self.stream.cuda_stream)


def as_graph(run: Work, times: int) -> Work:
    """`times` calls of `run` as one graph, each on the next copy of the arrays."""
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream), cupy.cuda.Stream.from_external(_Shared(stream)):
        run()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(times):
                run()

    def replay(kept: Work = run) -> None:  # the graph needs the kernel's module loaded
        graph.replay()

    return replay
