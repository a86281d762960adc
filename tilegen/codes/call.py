"""TG08: calls of a kernel. One entry per code, in order."""

from __future__ import annotations

from tilegen.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0801",
        "no kernel of that name",
        "A file's kernels are called by the names they were declared with.",
        'tilegen.load("specs/transpose.tile").kernel("transposed")',
    ),
    Code(
        "TG0802",
        "a file with several kernels",
        "Where a file holds more than one kernel, it has to be said which one is meant.",
        "tilegen run specs/copy.tile",
    ),
    Code(
        "TG0803",
        "no schedule of that name",
        "A schedule is named as the spec declares it, a variant of a family with its choices in brackets; "
        "`auto` always exists.",
        'kernel.schedule("paded")',
    ),
    Code(
        "TG0804",
        "no such type",
        "A type parameter takes one of the choices that the kernel declares.",
        'file.kernel("transpose", T="f64") of kernel transpose[T: f32 | f16]',
    ),
    Code(
        "TG0805",
        "a size that cannot be set",
        "Compile-time sizes are given when a kernel is chosen, run-time sizes at the call; both are integers "
        "of 0 or more.",
        'file.kernel("rows", K=-1)',
    ),
    Code(
        "TG0810",
        "arguments that do not match the kernel",
        "Inputs come by position or by name, outputs in `out=`, sizes that no array determines and scalars by "
        "name.",
        "kernel(a, b) of a kernel with one input",
    ),
    Code(
        "TG0811",
        "an array the kernel cannot take",
        "Arrays come from NumPy, CuPy, torch or any library with DLPack or `__cuda_array_interface__`, with "
        "the tensor's element type: nothing is converted in silence.",
        "kernel(numpy.zeros(4)) of in a: f32[N]",
    ),
    Code(
        "TG0812",
        "shapes and sizes that do not agree",
        "Every size has one value, which all extents and all sizes given by name must agree with.",
        "kernel(a, b) of in a: f32[N]; in b: f32[N] with 4 and 5 elements",
    ),
    Code(
        "TG0813",
        "strides the kernel does not take",
        "A tensor is laid out as its clauses say. Only a stride written `*` is taken from the array.",
        "kernel(a.T) of in a: f32[M, N]",
    ),
    Code(
        "TG0814",
        "an array that is not made of whole elements",
        "A typed load needs an address and strides that are multiples of the element. A column of packed "
        "records is none.",
        'kernel(records["x"]) of packed records of 5 bytes',
    ),
    Code(
        "TG0815",
        "arrays on several devices",
        "One launch reads and writes the memory of one device, or of the host where it is simulated.",
        "kernel(on_gpu_0, out=on_gpu_1)",
    ),
    Code(
        "TG0816",
        "an output that cannot be written",
        "An output must be writable, and no two of its elements may share memory.",
        "kernel(a, out=numpy.broadcast_to(row, (4, 8)))",
    ),
    Code(
        "TG0817",
        "an output that overlaps another argument",
        "Blocks run in any order, so what one writes another must not read. `inout` says that a tensor is "
        "read before it is written.",
        "kernel(a, out=a)",
    ),
    Code(
        "TG0818",
        "a scalar of the wrong type",
        "A scalar parameter takes a number that its type holds. Integers are not cut to fit.",
        "kernel(a, k=300) of k: u8",
    ),
    Code(
        "TG0819",
        "a launch that a promise forbids",
        "`bounds exact`, `index i32` and `align` are promises about the arguments: with others the launch is "
        "refused, not slowed.",
        "kernel(a) of schedule s { tile i = 32; bounds exact } with 33 elements",
    ),
    Code(
        "TG0820",
        "a struct tensor passed in another form",
        "Arrays of structs are structured arrays, or have a last axis of members where all have one type. A "
        "`soa` tensor is a dictionary of arrays, one per member.",
        'kernel({"x": x, "y": y}) of in p: struct { x: f32, y: f32 }[P]',
    ),
)
