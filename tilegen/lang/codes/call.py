"""TG08: calls of a kernel. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0801",
        "no kernel of that name",
        "The file holds no kernel of the name asked for.",
        'tilegen.load("transpose.tile").kernel("transpos")',
    ),
    Code(
        "TG0802",
        "a file with several kernels, and none is named",
        "Where a file holds more than one kernel, the one that is meant has to be named.",
        "tilegen run two_kernels.tile --input a=a.npy",
    ),
    Code(
        "TG0803",
        "no schedule of that name",
        "The kernel declares no schedule of the name asked for. `auto` always exists. One variant of a schedule with "
        "sets of values is named with its choices.",
        'k.schedule("padded[pad = 3]")',
    ),
    Code(
        "TG0804",
        "no such choice of types",
        "A type parameter takes one of the types that the kernel's header lists.",
        'k.types(T="i32")  # of kernel transpose[T: f32 | f16]',
    ),
    Code(
        "TG0805",
        "a size that cannot be given",
        "Sizes are called as the kernel's header calls them and are integers, 0 or more. When code is emitted, only a "
        "compile-time size (`K = 128`) can be given another value.",
        "tilegen emit matmul.tile -o out --define M=64  # M is known at run time",
    ),
    Code(
        "TG0810",
        "arguments missing, too many or unknown",
        "A call passes every input, in the order in which the kernel declares them or by name. Outputs go into `out`; "
        "sizes that no array determines and scalars without a default are passed by name.",
        "k(a, b)  # of a kernel with one input",
    ),
    Code(
        "TG0811",
        "an argument that is no array, or one of other elements",
        "Arrays are NumPy's, CuPy's or torch's, or have DLPack or `__cuda_array_interface__`. The type of their "
        "elements must be the kernel's: nothing is converted, since that would be a copy that nobody asked for.",
        "k(numpy.zeros((3, 4)))  # float64 for a kernel of f32",
    ),
    Code(
        "TG0812",
        "shapes that do not fit",
        "The shapes of all arrays, and the sizes given by name, must agree with the extents that the kernel declares.",
        "k(a, b)  # a: [M, K] of (3, 4), b: [K, N] of (5, 6)",
    ),
    Code(
        "TG0813",
        "an array in another layout than declared",
        "A tensor without layout clauses is dense and row-major, and the generated code relies on it. For views, "
        "transposed arrays and arrays in column-major order, pass a contiguous copy or declare the layout: "
        "`strides(*, 1)` takes the row stride from the array, `order(1, 0)` is column-major. Strides of axes of extent "
        "1 and of empty arrays do not matter.",
        "k(a[:, ::2])",
    ),
    Code(
        "TG0814",
        "an array that starts at an odd address",
        "Elements lie at multiples of their own size (a complex number at multiples of its whole size), and an array "
        "keeps what its tensor promises with `align`. Views of packed records and of bytes may start anywhere.",
        "k(raw[1:].view(numpy.float32))",
    ),
    Code(
        "TG0815",
        "arrays in different memories",
        "All arrays of a call are in host memory, or all on one GPU. Nothing is moved behind the caller's back.",
        "k(numpy_array, out=cupy_array)",
    ),
    Code(
        "TG0816",
        "an output that cannot be written",
        "The array for an output is read-only, or broadcast, so that several of its elements are one place in memory.",
        "k(a, out=numpy.broadcast_to(row, (4, 8)))",
    ),
    Code(
        "TG0817",
        "an output that overlaps another array",
        "The generated code may read an input after it has written an output. A kernel that works in place declares "
        "the tensor `inout`.",
        "k(a, out=a.T)",
    ),
    Code(
        "TG0818",
        "a scalar of the wrong kind",
        "A scalar argument is a number that its declared type can hold; integers take no fraction.",
        "k(a, n=1.5)  # declared n: i32",
    ),
    Code(
        "TG0819",
        "a promise of the spec or the schedule that these arguments break",
        "`align`, `bounds exact` and `index i32` are promises; generated code relies on them, so a call that breaks "
        "one is refused. So is a launch outside the limits of the GPU.",
        "schedule fast { tile i = 128; bounds exact }  # and a call with 100 elements",
    ),
    Code(
        "TG0820",
        "a struct tensor that is passed in another form",
        "A `soa` tensor is a dictionary with one array per field. Any other struct tensor is one structured array or, "
        "where all fields have one type, an array with one more axis for the fields.",
        "k(points)  # in points: struct { x: f32, y: f32 }[N] soa",
    ),
)
