"""TG02 to TG05: what the checks of a spec report. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code

CODES: tuple[Code, ...] = (
    Code(
        "TG0201",
        "a name is declared twice",
        "Kernels of a file, and type parameters, sizes, scalar parameters, tensors and locals of a "
        "kernel, each have a name of their own: a name that meant two things would have to be guessed.",
        ("kernel k(N) {\n    in x: f32[N]\n    out x: f32[N]\n    x[i] = 1.0\n}"),
    ),
    Code(
        "TG0202",
        "an unknown type",
        "The types are bool, i8 to i64, u8 to u64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64, c128, and "
        "the type parameters of the kernel.",
        ("kernel k(N) {\n    in x: float32[N]\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0203",
        "a type parameter lists a type twice",
        "One kernel is made for each choice, so each choice is named once.",
        ("kernel k[T: f32 | f16 | f32](N) {\n    in x: T[N]\n    out y: T[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0204",
        "a compile-time size is no constant",
        "`K = 128` fixes a size when the kernel is compiled: a constant integer, 0 or more. A size that "
        "is known at run time has no value in the header.",
        ("kernel k(N, K = -1) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0205",
        "the default of a scalar parameter is no number",
        "The default is a literal of the parameter's type.",
        ("kernel k(N, eps: f32 = N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i] + eps\n}"),
    ),
    Code(
        "TG0206",
        "an extent is no integer expression of sizes",
        "Extents are written with integers, sizes and `+ - * // %`, so that every address can be derived "
        "from the sizes; a negative extent has no meaning.",
        ("kernel k(N) {\n    in x: f32[N / 2]\n    out y: f32[N]\n    y[i] = 1.0\n}"),
    ),
    Code(
        "TG0207",
        "an unknown name",
        "A name in an expression is a size, a scalar parameter, an axis of the statement, a tensor or a "
        "local declared before.",
        ("kernel k(N) {\n    in input: f32[N]\n    out y: f32[N]\n    y[i] = inptu[i]\n}"),
    ),
    Code(
        "TG0208",
        "a struct is ill-formed",
        "A struct has at least one member, and its members have different names.",
        ("kernel k(N) {\n    in p: struct { x: f32, x: f32 }[N]\n    out y: f32[N]\n    y[i] = 1.0\n}"),
    ),
    Code(
        "TG0209",
        "an output is never assigned",
        "An `out` or `inout` tensor that no statement writes would keep what it held; most likely a "
        "statement is missing or the role is wrong. A kernel writes at least one tensor.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y, z: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0211",
        "an `out` tensor is read",
        "An `out` tensor holds nothing before the launch, and statements are not executed in order, so "
        "there is nothing to read.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y, z: f32[N]\n    y[i] = x[i]\n    z[i] = y[i]\n}"),
    ),
    Code(
        "TG0212",
        "something that cannot be written is assigned",
        "Only `out` and `inout` tensors are written.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    x[i] = y[i]\n    y[i] = 0.0\n}"),
    ),
    Code(
        "TG0213",
        "an unknown member",
        "The struct has no member of that name.",
        (
            "kernel k(N) {\n"
            "    in p: struct { speed: f32, mass: f32 }[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = p[i].sped\n"
            "}"
        ),
    ),
    Code(
        "TG0214",
        "a member where there is none, or a struct where a member is needed",
        "Members belong to struct tensors; a value is one member, and only an assignment from struct to "
        "struct moves whole elements.",
        (
            "kernel k(N) {\n"
            "    in p: struct { x: f32, y: f32 }[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = p[i] + 1.0\n"
            "}"
        ),
    ),
    Code(
        "TG0215",
        "a name is used as what it is not",
        "A tensor with axes needs an index, and only tensors and locals have elements.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x + 1.0\n}"),
    ),
    Code(
        "TG0301",
        "the wrong number of indices",
        "A tensor or local is indexed once per axis.",
        ("kernel k(N) {\n    in x: f32[N, N]\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0302",
        "one axis has two extents",
        "An axis takes its extent from the dimensions that it indexes alone; where there are several they"
        " must be equal. What only the sizes of a call can tell is checked there.",
        (
            "kernel k(N) {\n"
            "    in a: f32[N]\n"
            "    in b: f32[N + 1]\n"
            "    out y: f32[N]\n"
            "    y[i] = a[i] + b[i]\n"
            "}"
        ),
    ),
    Code(
        "TG0303",
        "an index is not affine",
        "An index is a sum of axes times integers or sizes, with `//` and `%` by integers or sizes: what "
        "can be turned into addresses, and proved.",
        ("kernel k(N) {\n    in x: f32[N * N]\n    out y: f32[N, N]\n    y[i, j] = x[i * j]\n}"),
    ),
    Code(
        "TG0304",
        "an axis without an extent",
        "No dimension is indexed by the axis alone, so nothing says how far it goes.",
        ("kernel k(N) {\n    in x: f32[2 * N]\n    out y: f32[N]\n    y[i] = sum[u](x[2 * i + u])\n}"),
    ),
    Code(
        "TG0305",
        "an axis on the right only",
        "An axis on the right is either also on the left (one result for each of its values) or reduced "
        "over.",
        ("kernel k(N) {\n    in x: f32[N, N]\n    out y: f32[N]\n    y[i] = x[i, j]\n}"),
    ),
    Code(
        "TG0306",
        "a reduction's axis is taken",
        "A reduction has axes of its own; their names are no sizes, tensors or axes of the statement "
        "around it.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = sum[i](x[i])\n}"),
    ),
    Code(
        "TG0307",
        "a range for no axis, or two ranges",
        "`for` gives ranges to axes of the left-hand side, one each.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i] for j in 0..N\n}"),
    ),
    Code(
        "TG0308",
        "a data-dependent index without a boundary",
        "What an array holds is not known when the spec is checked, so a read at an index from data needs"
        " a boundary that says what a read outside gives. A local cannot be read that way.",
        ("kernel k(N) {\n    in p: i32[N]\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[p[i]]\n}"),
    ),
    Code(
        "TG0309",
        "an access outside a tensor",
        "For some sizes the index leaves the extent. The note shows such sizes.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i - 1] + x[i + 1]\n}"),
    ),
    Code(
        "TG0310",
        "an element is written twice",
        "The left-hand side is one-to-one, so that the result does not depend on an order.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i // 2] = x[i]\n}"),
    ),
    Code(
        "TG0311",
        "two assignments write one element",
        "Assignments of a kernel are not executed in order; each element of a tensor (or member) is "
        "written by one of them.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i]\n    y[0] = 0.0\n}"),
    ),
    Code(
        "TG0312",
        "assignments over different axes",
        "All assignments of a kernel make one launch, over the axes of one of them.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    out z: f32[2 * N]\n"
            "    y[i] = x[i]\n"
            "    z[k] = x[k // 2]\n"
            "}"
        ),
    ),
    Code(
        "TG0313",
        "an index that is no integer",
        "Indices are integers; a float is cast first.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N] boundary edge\n"
            "    in p: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[p[i]]\n"
            "}"
        ),
    ),
    Code(
        "TG0314",
        "the axes of a local",
        "A local is declared with different plain names, one per axis.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    let t[2 * i] = x[i]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0315",
        "a data-dependent left-hand side",
        "Two elements could be written to one place, and the order would decide.",
        ("kernel k(N) {\n    in p: i32[N]\n    in x: f32[N]\n    out y: f32[N]\n    y[p[i]] = x[i]\n}"),
    ),
    Code(
        "TG0316",
        "a division by 0",
        "The divisor is 0: a constant, a compile-time size, or the sizes of a call make it so; or an operation on "
        "literals has no value.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i // 0]\n}"),
    ),
    Code(
        "TG0317",
        "the end of a range",
        "Ranges are written with integers and sizes; in a reduction, also with axes outside it.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i] for i in 0..x\n}"),
    ),
    Code(
        "TG0320",
        "a size of a call",
        "Every size is an integer, 0 or more; one that no array determines is passed by name.",
        "kernel(a, N=-1)",
    ),
    Code(
        "TG0321",
        "sizes of a call that must be equal",
        "One axis indexes two dimensions alone, so their extents are equal; at this call they are not.",
        "y[i] = a[i] + b[i]   # called with 3 and 4 elements",
    ),
    Code(
        "TG0322",
        "extents or strides of a call",
        "An extent is negative at these sizes, or a tensor that is written has a stride of 0.",
        "out y: f32[N - 2]   # called with N = 1",
    ),
    Code(
        "TG0323",
        "constant memory of a call",
        "At these sizes the constant tensors need more than 64 KiB.",
        "in w: f32[N] constant   # called with N = 20000",
    ),
    Code(
        "TG0324",
        "an index of a call leaves its tensor",
        "An index that only actual sizes can decide (a product of run-time sizes, or a scalar parameter) "
        "leaves its extent at this call.",
        "y[i] = x[S * i]   # x: f32[S * N], called with S = 0, N = 3",
    ),
    Code(
        "TG0325",
        "a left-hand side of a call writes an element twice",
        "At these sizes two points of the axes write one element.",
        "y[S * i] = x[i]   # called with S = 0",
    ),
    Code(
        "TG0326",
        "a reduction over nothing",
        "`max`, `min`, `mean`, `argmax` and `argmin` have no value over an empty range; `sum`, `prod`, "
        "`any`, `all` and `count` have their identity.",
        "y[i] = max[j](x[i, j])   # called with two rows of no elements",
    ),
    Code(
        "TG0327",
        "an index beyond 64 bits",
        "An expression of axes, sizes and integer scalars is exact, and is computed in 64 bits. The numbers of this "
        "call make it, or a part of it, too large.",
        "y[i] = x[S * i]   # x: f32[N] boundary wrap, called with S = 2 ** 62, N = 3",
    ),
    Code(
        "TG0401",
        "a literal that its type cannot hold",
        "A literal takes the type of the operand that it meets.",
        ("kernel k(N) {\n    in x: u8[N]\n    out y: u8[N]\n    y[i] = x[i] + 300\n}"),
    ),
    Code(
        "TG0402",
        "`/` on integers",
        "`//` rounds down, `/` gives a float; on integers, which of the two is meant has to be said.",
        ("kernel k(N) {\n    in x: i32[N]\n    out y: i32[N]\n    y[i] = x[i] / 2\n}"),
    ),
    Code(
        "TG0403",
        "a store that may lose a value",
        "Storing a float into an integer, an integer into a narrower one, or a complex number into a real"
        " one needs a cast or a function that says what is lost.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: i32[N]\n    y[i] = x[i] * 2\n}"),
    ),
    Code(
        "TG0404",
        "an operator on the wrong kind",
        "Arithmetic takes numbers, `and or not` take bools, and complex numbers have no `//`, `%` and `**`.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: bool[N]\n    y[i] = x[i] and true\n}"),
    ),
    Code(
        "TG0405",
        "an order of complex numbers",
        "Complex numbers can be equal or not, and nothing else.",
        ("kernel k(N) {\n    in x: c64[N]\n    out y: bool[N]\n    y[i] = x[i] < 1.0\n}"),
    ),
    Code(
        "TG0406",
        "an unknown function or reduction",
        "The functions and reductions are listed in the language reference, section 5.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = sgmoid(x[i])\n}"),
    ),
    Code(
        "TG0407",
        "the wrong number of arguments",
        "Each function takes a fixed number of arguments.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = clip(x[i], 0.0)\n}"),
    ),
    Code(
        "TG0408",
        "an argument of the wrong kind",
        "Functions like `exp` take floats; an integer is cast first.",
        ("kernel k(N) {\n    in x: i32[N]\n    out y: f32[N]\n    y[i] = exp(x[i])\n}"),
    ),
    Code(
        "TG0409",
        "a reduction over the wrong kind",
        "`any`, `all` and `count` take bools; `sum`, `max` and `argmax` take numbers; `mean` takes "
        "floats; an arg-reduction has one axis.",
        ("kernel k(N) {\n    in x: i32[N]\n    out y: f32[]\n    y[] = mean[i](x[i])\n}"),
    ),
    Code(
        "TG0410",
        "different structs",
        "Whole elements are assigned between structs with the same members.",
        (
            "kernel k(N) {\n"
            "    in p: struct { x: f32, y: f32 }[N]\n"
            "    out q: struct { x: f32, z: f32 }[N]\n"
            "    q[i] = p[i]\n"
            "}"
        ),
    ),
    Code(
        "TG0411",
        "a condition that is no bool",
        "`where` takes a bool; a number is compared first.",
        ("kernel k(N) {\n    in x: i32[N]\n    out y: i32[N]\n    y[i] = where(x[i], 1, 0)\n}"),
    ),
    Code(
        "TG0412",
        "a cast that has no value",
        "A complex number has several real numbers in it, and `inf` and `nan` no integer.",
        ("kernel k(N) {\n    in x: c64[N]\n    out y: f32[N]\n    y[i] = f32(x[i])\n}"),
    ),
    Code(
        "TG0501",
        "a layout clause given twice",
        "Each clause is given at most once.",
        ("kernel k(N) {\n    in x: f32[N] align 16B align 32B\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0502",
        "layout clauses that contradict each other",
        "`strides` says order and pitch itself; a struct tensor has one placement; a tensor is read "
        "through one memory.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N, N] order(1, 0) strides(1, N)\n"
            "    out y: f32[N, N]\n"
            "    y[i, j] = x[i, j]\n"
            "}"
        ),
    ),
    Code(
        "TG0503",
        "an order that is no permutation",
        "`order` names every axis once, from slowest to fastest.",
        ("kernel k(N) {\n    in x: f32[N, N] order(1, 1)\n    out y: f32[N, N]\n    y[i, j] = x[i, j]\n}"),
    ),
    Code(
        "TG0504",
        "a pitch that does not fit",
        "A pitch is a positive number of elements, or of bytes that make whole elements.",
        ("kernel k(N) {\n    in x: f32[N, N] pitch 126B\n    out y: f32[N, N]\n    y[i, j] = x[i, j]\n}"),
    ),
    Code(
        "TG0505",
        "strides that do not fit",
        "One stride per axis: integers, size expressions or `*`. A tensor that is written has no stride "
        "of 0.",
        ("kernel k(N) {\n    in x: f32[N, N] strides(1)\n    out y: f32[N, N]\n    y[i, j] = x[i, j]\n}"),
    ),
    Code(
        "TG0506",
        "an alignment that does not fit",
        "An alignment is a power of two in bytes, and at least the element's own.",
        ("kernel k(N) {\n    in x: f32[N] align 24B\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0507",
        "a placement of no struct",
        "`soa` and `aosoa(n)` place the members of a struct.",
        ("kernel k(N) {\n    in x: f32[N] soa\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0508",
        "a boundary that does not fit",
        "A boundary says what a read outside the extents gives: `constant` with a value, `edge`, "
        "`reflect`, `symmetric` or `wrap`. An `out` tensor is never read.",
        ("kernel k(N) {\n    in x: f32[N] boundary mirror\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0509",
        "constant memory that does not fit",
        "Constant memory is read only, and all constant tensors of a kernel share 64 KiB.",
        (
            "kernel k() {\n"
            "    in w: f32[129, 129] constant\n"
            "    out y: f32[129, 129]\n"
            "    y[i, j] = w[i, j]\n"
            "}"
        ),
    ),
    Code(
        "TG0510",
        "a texture that does not fit",
        "A texture has 1 to 3 axes, holds f32, f16 or integers up to 32 bits, and filters linearly only "
        "floats.",
        ("kernel k(N) {\n    in x: i32[N] texture(linear, edge)\n    out y: i32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0511",
        "an offset that does not fit",
        "An offset is a number of elements past the pointer, 0 or more.",
        ("kernel k(N) {\n    in x: f32[N] offset 4B\n    out y: f32[N]\n    y[i] = x[i]\n}"),
    ),
    Code(
        "TG0520",
        "a schedule's name",
        "Each schedule of a kernel has a name of its own, and `auto` is what tilegen chooses.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule auto { vector 4 }\n"
            "}"
        ),
    ),
    Code(
        "TG0521",
        "a schedule names an unknown axis",
        "A schedule uses the axes of the kernel's statements.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { tile j = 32 }\n"
            "}"
        ),
    ),
    Code(
        "TG0522",
        "a schedule names an unknown tensor",
        "A schedule uses the tensors of the kernel.",
        (
            "kernel k(N) {\n"
            "    in input: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = input[i]\n"
            "    schedule s { stage inpt }\n"
            "}"
        ),
    ),
    Code(
        "TG0523",
        "a directive given twice",
        "Each directive is given once until `otherwise`; `stage`, `keep` and `hint` once per tensor.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { vector 2; vector 4 }\n"
            "}"
        ),
    ),
    Code(
        "TG0524",
        "a value that a directive cannot have",
        "Tiles, threads and the like are positive integers, known when the kernel is compiled; a vector "
        "width is a power of two.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { vector 3 }\n"
            "}"
        ),
    ),
    Code(
        "TG0525",
        "a staged or kept tensor that is never read",
        "`stage` reads a tile into shared memory, `keep` keeps what was read.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { stage y }\n"
            "}"
        ),
    ),
    Code(
        "TG0526",
        "padding and swizzle at once",
        "Both remove bank conflicts; a buffer has one of them.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { stage x pad 1 swizzle }\n"
            "}"
        ),
    ),
    Code(
        "TG0527",
        "an unknown word in a directive",
        "`bounds` takes guard, split or exact; `index` i32, i64 or auto; `keep` registers or shared; `hint` streaming, "
        "readonly, evict_last, sectors or default.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { bounds gaurd }\n"
            "}"
        ),
    ),
    Code(
        "TG0528",
        "a hint that does not fit",
        "The read-only path and `evict_last` are for tensors that the kernel does not write, `sectors` is for those it "
        "writes.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { hint y readonly }\n"
            "}"
        ),
    ),
    Code(
        "TG0529",
        "a schedule names an unknown size",
        "`at` makes code for launches with these sizes, which are constants in it. It names sizes that a launch has; "
        "one with a value in the header is a constant in any case.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule s { at M = 3 }\n"
            "}"
        ),
    ),
    Code(
        "TG0530",
        "an axis by itself and in a product",
        "`i*j` is the axis that `i` and `j` are together. In one schedule an axis is named by itself or in one "
        "product, not in both.",
        (
            "kernel k(M, N) {\n"
            "    in x: f32[M, N]\n"
            "    out y: f32[M, N]\n"
            "    y[i, j] = x[i, j]\n"
            "    schedule s { tile i*j = 1024; threads j = 32 }\n"
            "}"
        ),
    ),
    Code(
        "TG0540",
        "a test names an unknown parameter",
        "A test gives values to sizes, scalar parameters and type parameters, each once.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i]\n    test M = 3\n}"),
    ),
    Code(
        "TG0541",
        "a value is missing",
        "A test gives every size that is known at run time, and every scalar parameter without a default;"
        " so does `at`, for sizes.",
        (
            "kernel k(M, N) {\n"
            "    in x: f32[M, N]\n"
            "    out y: f32[M, N]\n"
            "    y[i, j] = x[i, j]\n"
            "    test M = 3\n"
            "}"
        ),
    ),
    Code(
        "TG0542",
        "a value that a test cannot have",
        "Sizes are integers, 0 or more; the fills are index, normal, uniform and nan.",
        ("kernel k(N) {\n    in x: f32[N]\n    out y: f32[N]\n    y[i] = x[i]\n    test N = 3 fill norml\n}"),
    ),
    Code(
        "TG0543",
        "a test's shape does not fit the kernel",
        "The kernel could not be called with these sizes.",
        (
            "kernel k(N, M) {\n"
            "    in x: f32[N]\n"
            "    in z: f32[M]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i] + z[i]\n"
            "    test N = 3, M = 4\n"
            "}"
        ),
    ),
    Code(
        "TG0544",
        "a test's type is no choice",
        "A test uses one of the types that the type parameter lists.",
        (
            "kernel k[T: f32 | f16](N) {\n"
            "    in x: T[N]\n"
            "    out y: T[N]\n"
            "    y[i] = x[i]\n"
            "    test N = 3, T = f64\n"
            "}"
        ),
    ),
    Code(
        "TG0550",
        "an expectation names an unknown schedule",
        "A schedule of the kernel, or `auto`.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    schedule fast { vector 4 }\n"
            "    expect fsat: bank_conflicts == 0\n"
            "}"
        ),
    ),
    Code(
        "TG0551",
        "an unknown metric",
        "The metrics are listed in the language reference, section 7.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    expect bank_conflict == 0\n"
            "}"
        ),
    ),
    Code(
        "TG0552",
        "a unit that the metric has not",
        "Sectors compare with `x * ideal`, bandwidth and time with `x * copy`, bytes with byte sizes.",
        (
            "kernel k(N) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = x[i]\n"
            "    expect bandwidth >= 0.9 * ideal\n"
            "}"
        ),
    ),
    Code(
        "TG0553",
        "a scalar parameter in `at`",
        "`at` says the shape at which an expectation is evaluated.",
        (
            "kernel k(N, a: f32 = 1.0) {\n"
            "    in x: f32[N]\n"
            "    out y: f32[N]\n"
            "    y[i] = a * x[i]\n"
            "    expect load_sectors <= 1.0 * ideal at N = 64, a = 2.0\n"
            "}"
        ),
    ),
)
