"""TG03: axes, indices and ranges; TG032: what only the sizes of a call decide. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code, case, code, do, edit, either, near, spec
from tilegen.lang.codes.names import sizes_only

_XY = ("in x: f32[N]", "out y: f32[N]")

_OUTSIDE = either(
    "with {sizes}, the index is {index} at {axes}, and only {lower} to {last} exist",
    "with {sizes}, the index is {index}, and only {lower} to {last} exist",
    "the index is always {index}, and only {lower} to {last} exist",
    "with {sizes}, the index is {index}, and there is no element",
    "the index is {index}, and there is no element",
    "that it stays inside cannot be shown",
)

CODES: tuple[Code, ...] = (
    code(
        "TG0301",
        "the wrong number of indices",
        "A tensor or local is indexed once per axis.",
        spec("in x: f32[N, N]", "out y: f32[N]", "y[i] = x[i]"),
        indices=case(
            "`{name}` has {rank:axis}, and {given:index} {given:is} given",
            "give {rank:index}",
            declared="declared here",
        ),
        none=case(
            "`{name}` has {rank:axis}, and {given:index} {given:is} given",
            edit("write `{plain}`", "{plain}"),
            declared="declared here",
        ),
    ),
    code(
        "TG0302",
        "one axis has two extents",
        "An axis takes its extent from the dimensions that it indexes alone; where there are several they must be "
        "equal. What only the sizes of a call can tell is checked there.",
        spec("in a: f32[N]", "in b: f32[N + 1]", "out y: f32[N]", "y[i] = a[i] + b[i]"),
        case(
            "`{name}` has two extents: {first} and {other}",
            edit("use two axes, or say what `{name}` covers: `{range}`", "{typed}", at="place"),
            note="axis {other_dimension} of `{other_tensor}` gives {other}; dimensions that one axis indexes alone "
            "must be equal",
            first_place="axis {first_dimension} of `{first_tensor}` gives {first}",
        ),
    ),
    code(
        "TG0303",
        "an index is not affine",
        "An index is a sum of axes times integers or sizes, with `//` and `%` by integers or sizes: what can be "
        "turned into addresses, and proved.",
        spec("in x: f32[N * N]", "out y: f32[N, N]", "y[i, j] = x[i * j]"),
        case(
            "the index `{index}` is not affine in the axes",
            "give each axis a dimension of its own, or pass the indices in an integer tensor, as in `a[p[i]]`, where "
            "`a` has a boundary",
            note="an index is a sum of axes times integers or sizes, with `//` and `%` by integers or sizes",
        ),
    ),
    code(
        "TG0304",
        "an axis without an extent",
        "No dimension is indexed by the axis alone, so nothing says how far it goes.",
        spec("in x: f32[2 * N]", "out y: f32[N]", "y[i] = sum[u](x[2 * i + u])"),
        axis=case(
            "nothing says how far `{name}` goes",
            "give it a range after the expression: `for {name} in 0..…`",
            note="an axis takes its extent from a dimension that it indexes alone, and there is none",
        ),
        reduced=case(
            "nothing says how far `{name}` goes",
            "give it a range: `{name} in 0..…`",
            note="an axis takes its extent from a dimension that it indexes alone, and there is none",
        ),
    ),
    code(
        "TG0305",
        "an axis on the right only",
        "An axis on the right is either also on the left (one result for each of its values) or reduced over.",
        spec("in x: f32[N, N]", "out y: f32[N]", "y[i] = x[i, j]"),
        case(
            "the axis `{name}` is neither on the left nor reduced",
            do(
                edit("did you mean `{name:nearest}`?", "{name:nearest}"),
                "put `{name}` on the left, or reduce over it: `sum[{name}](…)`",
            ),
            note="axes here: {axes:list}",
        ),
    ),
    code(
        "TG0306",
        "a reduction's axis is taken",
        "A reduction has axes of its own; their names are no sizes, tensors or axes of the statement around it.",
        spec(*_XY, "y[i] = sum[i](x[i])"),
        kind=case("`{name}` is a {kind}, and a reduction needs an axis", "choose another name"),
        axis=case("`{name}` is already an axis here", "give the reduction an axis of its own"),
    ),
    code(
        "TG0307",
        "a range for no axis, or two ranges",
        "`for` gives ranges to axes of the left-hand side, one each.",
        spec(*_XY, "y[i] = x[i] for j in 0..N"),
        axis=case("`{name}` has a range and is not an axis of the left-hand side", near("axes")),
        twice=case("`{name}` has two ranges", "keep one of them", earlier="first given here"),
    ),
    code(
        "TG0308",
        "a data-dependent index without a boundary",
        "What an array holds is not known when the spec is checked, so a read at an index from data needs a boundary "
        "that says what a read outside gives. A local cannot be read that way.",
        spec("in p: i32[N]", *_XY, "y[i] = x[p[i]]"),
        tensor=case(
            "the index of `{name}` depends on data, and `{name}` has no boundary",
            edit(
                "add a boundary to `{name}`: `boundary edge`, or `boundary constant 0`",
                " boundary edge",
                " boundary constant 0",
                at="end",
            ),
            note="data can hold any number, so a read outside cannot be excluded",
        ),
        local=case(
            "the index of the local `{name}` depends on data",
            "write the value to a tensor in a kernel of its own",
            note="a local never reaches memory, so it can be read at indices of axes only",
        ),
    ),
    code(
        "TG0309",
        "an access outside a tensor",
        "For some sizes the index leaves the extent. The note shows such sizes.",
        spec(*_XY, "y[i] = x[i - 1] + x[i + 1]"),
        read=case(
            "`{name}` may be read outside: the index `{text}` leaves extent {extent}",
            edit(
                "say what a read outside gives: `boundary edge` or `boundary constant 0` at `{name}`; or give the "
                "axes a range that stays inside, with `for … in …`",
                " boundary edge",
                " boundary constant 0",
                at="end",
            ),
            note=_OUTSIDE,
        ),
        write=case(
            "`{name}` may be written outside: the index `{text}` leaves extent {extent}",
            "give the axes a range that stays inside, with `for … in …`, or make `{name}` larger",
            note=_OUTSIDE,
        ),
        local=case(
            "`{name}` may be read outside: the index `{text}` leaves {extent}",
            "give the axes a range that stays inside, with `for … in …`, or make `{name}` larger",
            note=_OUTSIDE,
        ),
    ),
    code(
        "TG0310",
        "an element is written twice",
        "The left-hand side is one-to-one, so that the result does not depend on an order.",
        spec(*_XY, "y[i // 2] = x[i]"),
        shown=case(
            "`{target}` writes some element twice",
            "let each axis index a dimension of its own, or reduce over the axis on the right",
            note="the left-hand side must be one-to-one: two points of the axes never write one element",
        ),
        unknown=case(
            "`{target}` cannot be shown to write every element once",
            "let each axis index a dimension of its own, or reduce over the axis on the right",
            note="the left-hand side must be one-to-one: two points of the axes never write one element",
        ),
    ),
    code(
        "TG0311",
        "two assignments write one element",
        "Assignments of a kernel are not executed in order; each element of a tensor (or member) is written by one "
        "of them.",
        spec(*_XY, "y[i] = x[i]", "y[0] = 0.0"),
        shown=case(
            "`{name}` is assigned twice, and the two write some element both",
            "join them with `where`, or give their axes ranges that do not meet",
            earlier="first assigned here",
        ),
        unknown=case(
            "`{name}` is assigned twice, and the two cannot be shown to write different elements",
            "join them with `where`, or give their axes ranges that do not meet",
            earlier="first assigned here",
        ),
    ),
    code(
        "TG0312",
        "assignments over different axes",
        "All assignments of a kernel make one launch, over the axes of one of them.",
        spec("in x: f32[N]", "out y: f32[N]", "out z: f32[2 * N]", "y[i] = x[i]", "z[k] = x[k // 2]"),
        case(
            "`{first}` and `{second}` are computed over different axes",
            "write two kernels, or use the same axis names with the same ranges in both",
            note="the assignments of a kernel make one launch, so they share one iteration space",
            first_place="over {first_axes:points}",
            second_place="over {second_axes:points}",
        ),
    ),
    code(
        "TG0313",
        "an index that is no integer",
        "Indices are integers; a float is cast first.",
        spec("in x: f32[N] boundary edge", "in p: f32[N]", "out y: f32[N]", "y[i] = x[p[i]]"),
        literal=case("an index is an integer", "write an integer, an axis or a size"),
        value=case("an index is an integer, and this is {type}", edit("cast: `i32({text})`", "i32({text})")),
        unbounded=case(
            "an index is an integer, and this is {type}",
            "cast it and give `{name}` a boundary: `{name}[i32(…)]`, as its value can be any number",
        ),
        scalar=case(
            "an index is an integer, and `{name}` is {type}",
            do(
                edit("declare it `{name}: i32`", "i32", at="place"),
                "declare it an integer with an integer default",
            ),
        ),
    ),
    code(
        "TG0314",
        "the axes of a local",
        "A local is declared with different plain names, one per axis.",
        spec(*_XY, "let t[2 * i] = x[i]", "y[i] = x[i]"),
        case(
            "the axes of the local `{name}` must be different plain names",
            "write `let {name}[{axes}] = …`",
            note="a local has one value for every point of its axes",
        ),
    ),
    code(
        "TG0315",
        "a data-dependent left-hand side",
        "Two elements could be written to one place, and the order would decide.",
        spec("in p: i32[N]", *_XY, "y[p[i]] = x[i]"),
        case(
            "an index on the left cannot depend on data",
            "read through the inverse map on the right, or sum what matches: `sum[i](where(x[i] == b, …))`",
            note="two elements could be written to one place",
        ),
    ),
    code(
        "TG0316",
        "a division by 0",
        "The divisor is 0: a constant, a compile-time size, or the sizes of a call make it so; or an operation on "
        "literals has no value.",
        spec(*_XY, "y[i] = x[i // 0]"),
        number=case("`{text}` divides by 0", "divide by an integer other than 0"),
        header=case(
            "`{text}` divides by 0",
            "give {names:or} another value, or declare it without one",
            note="`{divisor}` is 0 with the values in the header",
        ),
        sizes=case(
            "{text} divides by 0",
            do("choose another value for {names:or}", "choose another divisor"),
            note=either("{divisor} is 0 at {given}", "{given}"),
        ),
        literals=case("`{text}` has no value", "write the value that is meant, or divide by another number"),
    ),
    code(
        "TG0317",
        "the end of a range",
        "Ranges are written with integers and sizes; in a reduction, also with axes outside it.",
        spec(*_XY, "y[i] = x[i] for i in 0..x"),
        **sizes_only("the end of a range"),
    ),
    code(
        "TG0320",
        "a size of a call",
        "Every size is an integer, 0 or more; one that no array determines is passed by name.",
        "kernel(a, N=-1)",
        missing=case("no value for the size {names:and}", "pass it by name"),
        negative=case("the size `{name}` is {value}, and a size is 0 or more", "pass 0 or more for `{name}`"),
    ),
    code(
        "TG0321",
        "sizes of a call that must be equal",
        "One axis indexes two dimensions alone, so their extents are equal; at this call they are not.",
        "y[i] = a[i] + b[i]   # called with 3 and 4 elements",
        case(
            "{left} and {right} must be equal, and they are {left_value} and {right_value}",
            "pass arrays and sizes that agree",
            note="one axis indexes a dimension of each",
        ),
    ),
    code(
        "TG0322",
        "extents or strides of a call",
        "An extent is negative at these sizes, or a tensor that is written has a stride of 0.",
        "out y: f32[N - 2]   # called with N = 1",
        extent=case(
            "axis {axis} of `{name}` has the extent {extent}, which is {value}",
            "choose sizes that make it 0 or more",
        ),
        stride=case(
            either(
                "axis {axis} of `{name}` is written and has the stride {stride}, which is {step}",
                "axis {axis} of `{name}` is written and has the stride {stride}",
            ),
            "choose sizes that make it {reach} or more: each element needs a place of its own",
            note="elements of `{name}` share memory then: its extents are {extents}",
        ),
    ),
    code(
        "TG0323",
        "constant memory of a call",
        "At these sizes the constant tensors need more than 64 KiB.",
        "in w: f32[N] constant   # called with N = 20000",
        case(
            "constant tensors need {total} bytes, and constant memory has {most}",
            "choose smaller sizes, or declare a tensor without `constant`",
        ),
    ),
    code(
        "TG0324",
        "an index of a call leaves its tensor",
        "An index that only actual sizes can decide (a product of run-time sizes, or a scalar parameter) leaves its "
        "extent at this call.",
        "y[i] = x[S * i]   # x: f32[S * N], called with S = 0, N = 3",
        case(
            "the index {index} of `{name}` reaches {worst}, and axis {axis} has the extent {extent}",
            "pass sizes for which the index stays inside, or give the tensor a boundary",
            note="the extent {written} is {extent} at these sizes",
        ),
    ),
    code(
        "TG0325",
        "a left-hand side of a call writes an element twice",
        "At these sizes two points of the axes write one element.",
        "y[S * i] = x[i]   # called with S = 0",
        case(
            either(
                "{least} must be at least 1, so that `{target}` writes every element once",
                "`{target}` does not write every element once: {gap} is negative",
            ),
            "choose sizes that make it so",
            note="it is {value} at these sizes",
        ),
    ),
    code(
        "TG0326",
        "a reduction over nothing",
        "`max`, `min`, `mean`, `argmax` and `argmin` have no value over an empty range; `sum`, `prod`, `any`, `all` "
        "and `count` have their identity.",
        "y[i] = max[j](x[i, j])   # called with two rows of no elements",
        case(
            "`{reduction}` over `{axis}` has nothing to reduce: its range {lower}..{upper} is empty",
            do(
                "leave its beginning out: `{beginning}`",
                "leave its end out: `{end}`",
                "choose sizes that leave something to reduce",
            ),
            note="sum, prod, any, all and count over nothing give their identity; this reduction has none",
        ),
    ),
    code(
        "TG0327",
        "an index beyond 64 bits",
        "An expression of axes, sizes and integer scalars is exact, and is computed in 64 bits. The numbers of this "
        "call make it, or a part of it, too large.",
        "y[i] = x[S * i]   # x: f32[N] boundary wrap, called with S = 2 ** 62, N = 3",
        case(
            "{index} leaves 64 bits",
            do("choose numbers that keep it, and every part of it, below 2^63"),
            note="at {given}",
        ),
    ),
)
