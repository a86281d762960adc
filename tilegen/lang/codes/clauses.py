"""TG05: layout clauses, schedules as they are written, tests and expectations. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Case, Code, case, code, do, edit, near, spec
from tilegen.lang.codes.names import sizes_only

_XY = ("in x: f32[N]", "out y: f32[N]", "y[i] = x[i]")
_ABOUT = ("out y: f32[N, N]", "y[i, j] = x[i, j]")
_WRITTEN = edit("write `streaming`, `sectors` or `default`", "streaming", "sectors", "default", at="words")
_READ = edit(
    "write `streaming`, `readonly`, `evict_last` or `default`",
    *("streaming", "readonly", "evict_last", "default"),
    at="words",
)
_NO_CLAUSE = edit("leave the clause out", "", at="clause")


def _contradiction(reason: str) -> Case:
    return case(
        "`{second}` contradicts `{first}`",
        edit("keep one of the two clauses", "", at="clause"),
        note=reason,
        earlier="given here",
    )


def _clause(text: str) -> str:
    return spec(f"in x: f32[N] {text}", "out y: f32[N]", "y[i] = x[i]")


def _schedule(text: str) -> str:
    return spec(*_XY, f"schedule s {{ {text} }}")


CODES: tuple[Code, ...] = (
    code(
        "TG0501",
        "a layout clause given twice",
        "Each clause is given at most once.",
        _clause("align 16B align 32B"),
        case(
            "`{name}` is given twice", edit("keep one of them", "", at="clause"), earlier="first given here"
        ),
    ),
    code(
        "TG0502",
        "layout clauses that contradict each other",
        "`strides` says order and pitch itself; a struct tensor has one placement; a tensor is read through one "
        "memory.",
        spec("in x: f32[N, N] order(1, 0) strides(1, N)", *_ABOUT),
        order=_contradiction("strides say the order already"),
        pitch=_contradiction("strides say the pitch already"),
        placement=_contradiction("a struct tensor has one placement"),
        dense=_contradiction("blocks of an `aosoa` tensor are dense"),
        memory=_contradiction("a tensor is read through one memory"),
        mode=case(
            "the texture's address mode `{mode}` contradicts the tensor's boundary",
            edit("leave `boundary` out: the address mode says it", "", at="clause"),
        ),
    ),
    code(
        "TG0503",
        "an order that is no permutation",
        "`order` names every axis once, from slowest to fastest.",
        spec("in x: f32[N, N] order(1, 1)", *_ABOUT),
        axes=case(
            "`order` must name every axis of the tensor once, 0 to {last}, from slowest to fastest",
            edit("`order({reverse})` is column-major", "order({reverse})"),
            note="the tensor has {rank:axis}",
        ),
        rank=case(
            "`order` must name every axis of the tensor once",
            edit("leave the clause out", ""),
            note="the tensor has {rank:axis}",
        ),
    ),
    code(
        "TG0504",
        "a pitch that does not fit",
        "A pitch is a positive number of elements, or of bytes that make whole elements.",
        spec("in x: f32[N, N] pitch 126B", *_ABOUT),
        bytes=case(
            "a pitch of {bytes} bytes is not a whole number of elements",
            edit("use {near:or}", "{near:each}"),
            note="an element has {size} bytes",
        ),
        form=case(
            "`pitch` takes one positive number, in elements or in bytes",
            "as in `pitch 33` (elements) or `pitch 128B`",
        ),
    ),
    code(
        "TG0505",
        "strides that do not fit",
        "One stride per axis: integers, size expressions or `*`. A tensor that is written has no stride of 0.",
        spec("in x: f32[N, N] strides(1)", *_ABOUT),
        count=case(
            "`strides` takes one value per axis: {rank}, and {given} {given:is} given",
            "give one per axis, as in `strides(*, 1)`: `*` is taken from the array passed",
        ),
        zero=case(
            "`{name}` is written, and a stride of 0 puts several of its elements in one place",
            "give the axis a stride of its own",
            note="the axis has the extent {extent}",
        ),
        **sizes_only("a stride"),
    ),
    code(
        "TG0506",
        "an alignment that does not fit",
        "An alignment is a power of two in bytes, and at least the element's own.",
        _clause("align 24B"),
        form=case(
            "`align` takes one number of bytes", edit("write `align {least}B` or more", "align {least}B")
        ),
        power=case(
            "an alignment of {bytes} bytes is not a power of two", edit("use {near:or}", "{near:each}")
        ),
        small=case(
            "an alignment of {bytes} bytes is less than the element's own",
            edit("write `{least}B` or more, or leave the clause out", "{least}B"),
            note="{element} is aligned to {least} bytes",
        ),
    ),
    code(
        "TG0507",
        "a placement of no struct",
        "`soa` and `aosoa(n)` place the members of a struct.",
        _clause("soa"),
        struct=case("`{name}` is for struct tensors, and the elements are {element}", _NO_CLAUSE),
        number=case("`aosoa` takes a positive number of elements", edit("write `aosoa(32)`", "aosoa(32)")),
    ),
    code(
        "TG0508",
        "a boundary that does not fit",
        "A boundary says what a read outside the extents gives: `constant` with a value, `edge`, `reflect`, "
        "`symmetric` or `wrap`. An `out` tensor is never read.",
        _clause("boundary mirror"),
        mode=case("`boundary` takes a mode", near("modes")),
        out=case(
            "`{name}` is never read, so a boundary has no meaning",
            edit("leave the clause out", ""),
            note="a boundary says what a read outside the extents gives",
        ),
        constant=case(
            "`boundary constant` takes one number", edit("write `boundary constant 0`", "boundary constant 0")
        ),
        value=case("`{mode}` takes no value", edit("write `boundary {mode}`", "boundary {mode}")),
        number=case("a boundary's value must be a number", edit("write a number, `0`", "0")),
    ),
    code(
        "TG0509",
        "constant memory that does not fit",
        "Constant memory is read only, and all constant tensors of a kernel share 64 KiB.",
        spec("in w: f32[129, 129] constant", "out y: f32[129, 129]", "y[i, j] = w[i, j]", head="()"),
        written=case(
            "`{name}` is written, and constant memory is only read", edit("leave the clause out", "")
        ),
        size=case(
            "`{name}` has {size} bytes, and constant memory has {most}",
            edit("leave `constant` out: the tensor is then read through the cache", ""),
            note="{over} bytes too many",
        ),
        total=case(
            "the constant tensors have {total} bytes together, and constant memory has {most}",
            "leave `constant` out of one of them",
            note="{sizes}",
        ),
    ),
    code(
        "TG0510",
        "a texture that does not fit",
        "A texture has 1 to 3 axes, holds f32, f16 or integers up to 32 bits, and filters linearly only floats.",
        spec("in x: i32[N] texture(linear, edge)", "out y: i32[N]", "y[i] = x[i]"),
        form=case(
            "`texture` takes a filter and an address mode",
            "as in `texture(nearest, edge)`, or `texture(linear, edge)` for floats",
        ),
        mode=case("unknown address mode `{name}`", near("address modes")),
        written=case("`{name}` is written, and a texture is only read", _NO_CLAUSE),
        rank=case("a texture has 1 to 3 axes, and `{name}` has {rank:axis}", _NO_CLAUSE),
        element=case(
            "a texture cannot hold {element}",
            _NO_CLAUSE,
            note="textures hold f32, f16 and integers up to 32 bits",
        ),
        linear=case(
            "a linear filter needs floats, and `{name}` holds {element}",
            edit("write `nearest`, or pass f32 or f16", "nearest"),
        ),
    ),
    code(
        "TG0511",
        "an offset that does not fit",
        "An offset is a number of elements past the pointer, 0 or more.",
        _clause("offset 4B"),
        number=case("`offset` takes one number of elements", "as in `offset 1`"),
        negative=case(
            "an offset of {offset} lies before the pointer",
            "pass a pointer to the first element that is used, and give an offset of 0 or more",
        ),
        **sizes_only("an offset"),
    ),
    code(
        "TG0520",
        "a schedule's name",
        "Each schedule of a kernel has a name of its own, and `auto` is what tilegen chooses.",
        spec(*_XY, "schedule auto { vector 4 }"),
        auto=case(
            "`auto` is the schedule that tilegen chooses itself, and cannot be declared",
            "choose another name",
        ),
        twice=case("there are two schedules `{name}`", "choose another name", earlier="first declared here"),
    ),
    code(
        "TG0521",
        "a schedule names an unknown axis",
        "A schedule uses the axes of the kernel's statements.",
        _schedule("tile j = 32"),
        case("`{name}` is not an axis of this kernel", near("axes")),
    ),
    code(
        "TG0522",
        "a schedule names an unknown tensor",
        "A schedule uses the tensors of the kernel.",
        spec("in input: f32[N]", "out y: f32[N]", "y[i] = input[i]", "schedule s { stage inpt }"),
        case("`{name}` is not a tensor of this kernel", near("tensors")),
    ),
    code(
        "TG0523",
        "a directive given twice",
        "Each directive is given once until `otherwise`; `stage`, `keep` and `hint` once per tensor.",
        _schedule("vector 2; vector 4"),
        directive=case("`{name}` is given twice", "keep one of them", earlier="first given here"),
        value=case(
            "`{name}` is given twice", "keep one of them; a set of values is written as in `{{8, 16}}`"
        ),
        axis=case("`{name}` is given twice", "name each axis once"),
    ),
    code(
        "TG0524",
        "a value that a directive cannot have",
        "Tiles, threads and the like are positive integers, known when the kernel is compiled; a vector width is a "
        "power of two.",
        _schedule("vector 3"),
        power=case(
            "`{word}` takes powers of two, and this is {number}", edit("use {near:or}", "{near:each}")
        ),
        twice=case("{number} is in the set twice", "remove one of them"),
        positive=case(
            "`{word}` takes positive integers",
            "write an integer, or a size that has a value in the header",
            note="`{size}` is known only at run time",
        ),
        natural=case(
            "`{word}` takes integers, 0 or more",
            "write an integer, or a size that has a value in the header",
            note="`{size}` is known only at run time",
        ),
    ),
    code(
        "TG0525",
        "a staged or kept tensor that is never read",
        "`stage` reads a tile into shared memory, `keep` keeps what was read.",
        _schedule("stage y"),
        case(
            "`{name}` is never read, so there is nothing to {word}",
            "tensors that are read: {tensors:list}",
            note="it is declared `{role}`",
        ),
    ),
    code(
        "TG0526",
        "padding and swizzle at once",
        "Both remove bank conflicts; a buffer has one of them.",
        _schedule("stage x pad 1 swizzle"),
        swizzle=case(
            "a staged tensor is padded or swizzled, not both",
            edit("keep one of the two", ""),
            padding="padding given here",
        ),
        auto=case(
            "a padding is given, and `auto` leaves it to tilegen",
            edit("keep one of the two", ""),
            padding="padding given here",
        ),
    ),
    code(
        "TG0527",
        "an unknown word in a directive",
        "`bounds` takes guard, split or exact; `index` i32, i64 or auto; `keep` registers or shared; `hint` "
        "streaming, readonly, evict_last, sectors or default.",
        _schedule("bounds gaurd"),
        case("`{word}` cannot be `{name}`", near("words")),
    ),
    code(
        "TG0528",
        "a hint that does not fit",
        "The read-only path and `evict_last` are for tensors that the kernel does not write, `sectors` is for those "
        "it writes.",
        _schedule("hint y readonly"),
        readonly=case("`{name}` is written, so it is not read-only", _WRITTEN),
        evict_last=case("`{name}` is written, and `evict_last` is a hint for reads", _WRITTEN),
        sectors=case("`{name}` is only read, and `sectors` is a hint for writes", _READ),
    ),
    code(
        "TG0529",
        "a schedule names an unknown size",
        "`at` makes code for launches with these sizes, which are constants in it. It names sizes that a launch has; "
        "one with a value in the header is a constant in any case.",
        _schedule("at M = 3"),
        unknown=case("`{name}` is not a size of this kernel", near("sizes")),
        known=case("`{name}` has its value in the header", "leave it out"),
    ),
    code(
        "TG0530",
        "an axis by itself and in a product",
        "`i*j` is the axis that `i` and `j` are together. In one schedule an axis is named by itself or in one "
        "product, not in both.",
        spec(
            "in x: f32[M, N]",
            "out y: f32[M, N]",
            "y[i, j] = x[i, j]",
            "schedule s { tile i*j = 1024; threads j = 32 }",
            head="(M, N)",
        ),
        case(
            "`{first}` and `{second}` cannot both be named in a schedule",
            edit("name the same axis in both directives: `{first}`", "{first}", at="place"),
            earlier="`{axis}` is named so here",
        ),
    ),
    code(
        "TG0540",
        "a test names an unknown parameter",
        "A test gives values to sizes, scalar parameters and type parameters, each once.",
        spec(*_XY, "test M = 3"),
        unknown=case(
            "`{name}` is not a size, a type parameter or a scalar parameter of this kernel",
            do(
                edit("did you mean `{name:nearest}`?", "{name:nearest}"),
                "parameters known here: {known:list}",
            ),
        ),
        twice=case("`{name}` is given twice", "keep one of them"),
    ),
    code(
        "TG0541",
        "a value is missing",
        "A test gives every size that is known at run time, and every scalar parameter without a default; so does "
        "`at`, for sizes.",
        spec("in x: f32[M, N]", "out y: f32[M, N]", "y[i, j] = x[i, j]", "test M = 3", head="(M, N)"),
        test=case("the test gives no value for {names:and}", "add one, as in `{first} = 33`"),
        at=case("`at` gives no value for {names:and}", "add one, as in `{first} = 64`"),
    ),
    code(
        "TG0542",
        "a value that a test cannot have",
        "Sizes are integers, 0 or more; the fills are index, normal, uniform and nan.",
        spec(*_XY, "test N = 3 fill norml"),
        size=case("the size `{name}` must be an integer, 0 or more", "as in `{name} = 33`"),
        scalar=case("the value of `{name}` must be a number", "as in `{name} = 1`"),
        twice=case("`{name}` is given twice", "keep one of them"),
        on=case("a test runs `on gpu`, not on `{text}`", edit("write `on gpu`", "gpu")),
        fill=case("unknown fill `{name}`", near("fills")),
        seed=case("`seed` must be an integer, 0 or more", "as in `seed 7`"),
        tolerance=case("`{word}` must be a number, 0 or more", "as in `{word} 1e-5`"),
    ),
    code(
        "TG0543",
        "a test's shape does not fit the kernel",
        "The kernel could not be called with these sizes.",
        spec(
            "in x: f32[N]",
            "in z: f32[M]",
            "out y: f32[N]",
            "y[i] = x[i] + z[i]",
            "test N = 3, M = 4",
            head="(N, M)",
        ),
        case(
            "the kernel cannot run on this shape: {problem}",
            do("{action}", "choose other sizes"),
            note="{fact}",
            needed="needed here",
        ),
    ),
    code(
        "TG0544",
        "a test's type is no choice",
        "A test uses one of the types that the type parameter lists.",
        spec("in x: T[N]", "out y: T[N]", "y[i] = x[i]", "test N = 3, T = f64", head="[T: f32 | f16](N)"),
        case("`{name}` is not one of the types of `{parameter}`", near("types")),
    ),
    code(
        "TG0550",
        "an expectation names an unknown schedule",
        "A schedule of the kernel, or `auto`.",
        spec(*_XY, "schedule fast { vector 4 }", "expect fsat: bank_conflicts == 0"),
        case("there is no schedule `{name}`", near("schedules")),
    ),
    code(
        "TG0551",
        "an unknown metric",
        "The metrics are listed in the language reference, section 8.",
        spec(*_XY, "expect bank_conflict == 0"),
        case("unknown metric `{name}`", near("metrics")),
    ),
    code(
        "TG0552",
        "a unit that the metric has not",
        "Sectors compare with `x * ideal`, bandwidth and time with `x * copy`, bytes with byte sizes.",
        spec(*_XY, "expect bandwidth >= 0.9 * ideal"),
        value=case(
            "an expectation's value is a number, a number of bytes, `x * ideal` or `x * copy`",
            "as in `4`, `48KiB`, `1.0 * ideal` or `0.9 * copy`",
        ),
        unit=case("`{metric}` cannot be compared with `{text}`", "as in {examples:or}"),
    ),
    code(
        "TG0553",
        "a scalar parameter in `at`",
        "`at` says the shape at which an expectation is evaluated.",
        spec(
            "in x: f32[N]",
            "out y: f32[N]",
            "y[i] = a * x[i]",
            "expect load_sectors <= 1.0 * ideal at N = 64, a = 2.0",
            head="(N, a: f32 = 1.0)",
        ),
        case("`at` takes sizes and types, and `{name}` is a scalar parameter", "leave it out"),
    ),
)
