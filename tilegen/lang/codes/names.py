"""TG02: names, types and roles. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Case, Code, case, code, do, edit, near, spec

_XY = ("in x: f32[N]", "out y: f32[N]")


def sizes_only(what: str) -> dict[str, Case]:
    """The cases of an expression that may use sizes only."""
    return {
        "kind": case(
            f"{what} may use sizes only, and `{{name}}` is a {{kind}}", "sizes known here: {sizes:list}"
        ),
        "slash": case(
            f"{what} must be an integer expression of sizes",
            edit("write `//` instead of `/`", "{left} // {right}"),
            note="integers, sizes and `+ - * // %` may be used",
        ),
        "form": case(
            f"{what} must be an integer expression of sizes",
            "write it with integers and sizes",
            note="integers, sizes and `+ - * // %` may be used",
        ),
    }


CODES: tuple[Code, ...] = (
    code(
        "TG0201",
        "a name is declared twice",
        "Kernels of a file, and type parameters, sizes, scalar parameters, tensors and locals of a kernel, each have "
        "a name of their own: a name that meant two things would have to be guessed.",
        spec("in x: f32[N]", "out x: f32[N]", "x[i] = 1.0"),
        kernel=case(
            "the file has two kernels `{name}`", "choose another name", earlier="first declared here"
        ),
        name=case(
            "`{name}` is already the name of a {kind}", "choose another name", earlier="first declared here"
        ),
    ),
    code(
        "TG0202",
        "an unknown type",
        "The types are bool, i8 to i64, u8 to u64, f8e4m3, f8e5m2, f16, bf16, f32, f64, c64, c128, and the type "
        "parameters of the kernel.",
        spec("in x: float32[N]", "out y: f32[N]", "y[i] = x[i]"),
        case("unknown type `{name}`", near("types")),
    ),
    code(
        "TG0203",
        "a type parameter lists a type twice",
        "One kernel is made for each choice, so each choice is named once.",
        spec("in x: T[N]", "out y: T[N]", "y[i] = x[i]", head="[T: f32 | f16 | f32](N)"),
        case("`{name}` lists `{choice}` twice", edit("remove one of them", "", at="rest")),
    ),
    code(
        "TG0204",
        "a compile-time size is no constant",
        "`K = 128` fixes a size when the kernel is compiled: a constant integer, 0 or more. A size that is known at "
        "run time has no value in the header.",
        spec(*_XY, "y[i] = x[i]", head="(N, K = -1)"),
        case(
            "a compile-time size must be a constant integer, 0 or more",
            "a size that is known at run time has no value here: write its name alone",
            note="this is {number}",
        ),
    ),
    code(
        "TG0205",
        "the default of a scalar parameter is no number",
        "The default is a literal of the parameter's type.",
        spec(*_XY, "y[i] = x[i] + eps", head="(N, eps: f32 = N)"),
        number=case(
            "the value of a scalar parameter must be a number", "write a literal, for example `1e-5`"
        ),
        bool=case("the value of a `bool` parameter must be `true` or `false`", "write one of them"),
    ),
    code(
        "TG0206",
        "an extent is no integer expression of sizes",
        "Extents are written with integers, sizes and `+ - * // %`, so that every address can be derived from the "
        "sizes; a negative extent has no meaning.",
        spec("in x: f32[N / 2]", "out y: f32[N]", "y[i] = 1.0"),
        negative=case("an extent cannot be negative, and this is {extent}", "write an extent of 0 or more"),
        **sizes_only("an extent"),
    ),
    code(
        "TG0207",
        "an unknown name",
        "A name in an expression is a size, a scalar parameter, an axis of the statement, a tensor or a local "
        "declared before.",
        spec("in input: f32[N]", "out y: f32[N]", "y[i] = inptu[i]"),
        name=case(
            "unknown name `{name}`",
            do(
                edit("did you mean `{name:nearest}`?", "{name:nearest}"),
                "did you mean an element of `{element}`, `{element}[…]`?",
                "{name:near names}",
            ),
        ),
        tensor=case("unknown tensor `{name}`", near("tensors")),
        size=case(
            "`{name}` is not a size of this kernel",
            do(
                edit("did you mean `{name:nearest}`?", "{name:nearest}"),
                "declare it in the header, `kernel …({name})`",
            ),
        ),
        type=case("`{name}` is a type parameter, not a value", "cast with `{name}(…)`"),
        later=case("`{name}` is a local that is defined further down", "move its `let` above this line"),
        itself=case(
            "`{name}` is read in its own definition",
            "give the new value a name of its own",
            note="a local has one value, which may use those of locals before it",
        ),
    ),
    code(
        "TG0208",
        "a struct is ill-formed",
        "The members of a struct have different names.",
        spec("in p: struct { x: f32, x: f32 }[N]", "out y: f32[N]", "y[i] = 1.0"),
        case("the struct has two members `{name}`", "rename one of them"),
    ),
    code(
        "TG0209",
        "an output is never assigned",
        "An `out` or `inout` tensor that no statement writes would keep what it held; most likely a statement is "
        "missing or the role is wrong. A kernel writes at least one tensor.",
        spec("in x: f32[N]", "out y, z: f32[N]", "y[i] = x[i]"),
        tensor=case(
            "`{name}` is never assigned",
            "assign it: `{name}[…] = …`",
            "or declare it `{instead}`, if it is only read",
            note="it is declared `{role}`",
        ),
        kernel=case("the kernel `{name}` writes nothing", "declare an `out` tensor"),
    ),
    code(
        "TG0211",
        "an `out` tensor is read",
        "An `out` tensor holds nothing before the launch, and statements are not executed in order, so there is "
        "nothing to read.",
        spec("in x: f32[N]", "out y, z: f32[N]", "y[i] = x[i]", "z[i] = y[i]"),
        case(
            "`{name}` is an `out` tensor and cannot be read",
            edit(
                "name the value with `let`, or declare the tensor `inout` to read what it held before the launch",
                "inout",
                at="role",
            ),
        ),
    ),
    code(
        "TG0212",
        "something that cannot be written is assigned",
        "Only `out` and `inout` tensors are written.",
        spec(*_XY, "x[i] = y[i]", "y[i] = 0.0"),
        **{
            "in": case(
                "`{name}` is an `in` tensor and cannot be written",
                edit("declare it `{role}`", "{role}", at="place"),
                declared="declared here",
            )
        },
        kind=case(
            "`{name}` is a {kind} and cannot be assigned", "assign to a tensor that is `out` or `inout`"
        ),
        local=case("`{name}` is a {kind} and cannot be assigned", "a local is defined once, with `let`"),
    ),
    code(
        "TG0213",
        "an unknown member",
        "The struct has no member of that name.",
        spec("in p: struct { speed: f32, mass: f32 }[N]", "out y: f32[N]", "y[i] = p[i].sped"),
        case("`{tensor}` has no member `{name}`", near("members")),
    ),
    code(
        "TG0214",
        "a member where there is none, or a struct where a member is needed",
        "Members belong to struct tensors; a value is one member, and only an assignment from struct to struct moves "
        "whole elements.",
        spec("in p: struct { x: f32, y: f32 }[N]", "out y: f32[N]", "y[i] = p[i] + 1.0"),
        struct=case(
            "`{name}` holds structs, and a value is one member",
            edit("name a member: {members:or}", "{text}{members:each}"),
        ),
        plain=case(
            "`{name}` holds {element}, which has no members", edit("write `{text}`", "{text}", at="place")
        ),
        local=case("`{name}` is a local and has no members", edit("write `{text}`", "{text}", at="place")),
    ),
    code(
        "TG0215",
        "a name is used as what it is not",
        "A tensor with axes needs an index, and only tensors and locals have elements.",
        spec(*_XY, "y[i] = x + 1.0"),
        index=case(
            "`{name}` has {rank:axis} and stands here without an index",
            do(edit("write `{name}[{indices}]`", "{name}[{indices}]"), "name its element: `{name}[…]`"),
        ),
        elements=case("`{name}` is a {kind} and has no elements", "write its name alone, or index a tensor"),
        bytes=case("a number of bytes is not a value", edit("write `{number}`", "{number}")),
    ),
)
