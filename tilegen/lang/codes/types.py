"""TG04: types of expressions. One entry per code, in order."""

from __future__ import annotations

from tilegen.lang.codes.entry import Code, case, code, do, edit, near, spec

_XY = ("in x: f32[N]", "out y: f32[N]")
_COMPARE = edit("compare: `{text} != 0`", "{text} != 0")
_REAL = edit("take `real(…)`, `imag(…)` or `abs(…)`", "real({text})", "imag({text})", "abs({text})")

CODES: tuple[Code, ...] = (
    code(
        "TG0401",
        "a literal that its type cannot hold",
        "A literal takes the type of the operand that it meets.",
        spec("in x: u8[N]", "out y: u8[N]", "y[i] = x[i] + 300"),
        bool=case(
            "`{value}` is not a value of type {type}", edit("write `true` or `false`", "true", "false")
        ),
        number=case("`{value}` is not a value of type {type}", "write a number"),
        float=case(
            "`{value}` is a float and meets the integer type {type}",
            do(edit("write `{whole}`", "{whole}"), "write an integer"),
            "for a float result cast the other operand: `{wide}(…)`",
            note="a literal takes the type of the other operand",
        ),
        range=case(
            "{type} cannot hold `{value}`",
            "write a number in that range",
            "for a wider result cast the other operand: `{wide}(…)`",
            note="{type} holds {low} to {high}",
        ),
        infinite=case(
            "{type} cannot hold `{value}`",
            "write a smaller number, or give the parameter a wider type",
            note="the largest {type} is {largest}",
        ),
    ),
    code(
        "TG0402",
        "`/` on integers",
        "`//` rounds down, `/` gives a float; on integers, which of the two is meant has to be said.",
        spec("in x: i32[N]", "out y: i32[N]", "y[i] = x[i] / 2"),
        case(
            "`/` is not defined for integers ({type})",
            edit("write `{left} // {right}` to round down", "{left} // {right}"),
            "for a float result cast one of them: `f32(…)`",
        ),
    ),
    code(
        "TG0403",
        "a store that may lose a value",
        "Storing a float into an integer, an integer into a narrower one, or a complex number into a real one needs "
        "a cast or a function that says what is lost.",
        spec("in x: f32[N]", "out y: i32[N]", "y[i] = x[i] * 2"),
        float=case(
            "`{target}` holds {type}, and the value is {value_type}",
            edit("cast: `{type}({text})`", "{type}({text})"),
            note="a float is stored in an integer only by a cast, which truncates towards zero",
        ),
        integer=case(
            "`{target}` holds {type}, and the value is {value_type}",
            edit("cast: `{type}({text})`", "{type}({text})"),
            note="{type} cannot hold every value of {value_type}",
        ),
        bool=case("`{target}` holds {type}, and the value is {value_type}", _COMPARE),
        complex=case("`{target}` holds {type}, and the value is {value_type}", _REAL),
    ),
    code(
        "TG0404",
        "an operator on the wrong kind",
        "Arithmetic takes numbers, `and or not` take bools, and complex numbers have no `//`, `%` and `**`.",
        spec("in x: f32[N]", "out y: bool[N]", "y[i] = x[i] and true"),
        sign=case(
            "`{op}` takes a number, and this is a bool",
            edit("cast: `i32({text})`", "i32({text})"),
            "or write `not …`",
        ),
        bools=case("`{op}` takes bools, and this is {type}", _COMPARE),
        numbers=case(
            "`{op}` takes numbers, and both operands are bools", "write `and` or `or`, or cast both: `i32(…)`"
        ),
        literals=case(
            "`{op}` takes numbers, and this is a bool", "write numbers; bools are joined by `and` and `or`"
        ),
        complex=case("`{op}` is not defined for {type}", "compute with `real(…)` and `imag(…)`"),
        complex_power=case("`{op}` is not defined for {type}", "multiply instead, as in `z * z`"),
        negative_power=case(
            "an integer cannot be raised to a negative power",
            "for a float result cast first: `f32({left}) ** …`",
        ),
    ),
    code(
        "TG0405",
        "an order of complex numbers",
        "Complex numbers can be equal or not, and nothing else.",
        spec("in x: c64[N]", "out y: bool[N]", "y[i] = x[i] < 1.0"),
        comparison=case("complex numbers have no order", "compare `real(…)`, `imag(…)` or `abs(…)`"),
        reduction=case(
            "complex numbers have no order",
            edit("reduce `abs({text})` or `real({text})`", "abs({text})", "real({text})"),
        ),
    ),
    code(
        "TG0406",
        "an unknown function or reduction",
        "The functions and reductions are listed in the language reference, section 5.",
        spec(*_XY, "y[i] = sgmoid(x[i])"),
        function=case("unknown function `{name}`", near("functions")),
        reduction=case("unknown reduction `{name}`", near("reductions")),
        axes=case("unknown function `{name}`", "name the axes in brackets: `{name}[k](…)`"),
        brackets=case(
            "unknown function `{name}`", "`{name}` is a {kind}; elements are read with brackets: `{name}[…]`"
        ),
    ),
    code(
        "TG0407",
        "the wrong number of arguments",
        "Each function takes a fixed number of arguments.",
        spec(*_XY, "y[i] = clip(x[i], 0.0)"),
        where=case(
            "`{name}` takes {arity:argument}, and {given} {given:is} given",
            "as in `where(condition, then, otherwise)`",
        ),
        call=case(
            "`{name}` takes {arity:argument}, and {given} {given:is} given", "as in `{name}({letters})`"
        ),
    ),
    code(
        "TG0408",
        "an argument of the wrong kind",
        "Functions like `exp` take floats; an integer is cast first.",
        spec("in x: i32[N]", "out y: f32[N]", "y[i] = exp(x[i])"),
        cast=case(
            "`{name}` takes {accepted}, and this is {type}",
            do(
                edit("cast first: `{name}(f32({argument}))`", "{name}(f32({argument}))"),
                "cast the arguments first: `f32(…)`",
            ),
        ),
        complex=case(
            "`{name}` takes {accepted}, and this is {type}", "take `real(…)`, `imag(…)` or `abs(…)` first"
        ),
    ),
    code(
        "TG0409",
        "a reduction over the wrong kind",
        "`any`, `all` and `count` take bools; `sum`, `max` and `argmax` take numbers; `mean` takes floats; an "
        "arg-reduction has one axis.",
        spec("in x: i32[N]", "out y: f32[]", "y[] = mean[i](x[i])"),
        axes=case("`{op}` gives a position along one axis, and {given} are given", "reduce over one axis"),
        bools=case("`{op}` takes bools, and this is {type}", _COMPARE),
        numbers=case(
            "`{op}` takes numbers, and this is a bool",
            edit("cast: `i32({text})`", "i32({text})"),
            "or write `{other}[…](…)`",
        ),
        floats=case("`mean` takes floats, and this is {type}", edit("cast: `f32({text})`", "f32({text})")),
    ),
    code(
        "TG0410",
        "different structs",
        "Whole elements are assigned between structs with the same members.",
        spec("in p: struct { x: f32, y: f32 }[N]", "out q: struct { x: f32, z: f32 }[N]", "q[i] = p[i]"),
        structs=case(
            "`{source}` and `{target}` hold different structs",
            "assign the members one by one",
            note="`{target}` holds {target_type}; `{source}` holds {source_type}",
        ),
        plain=case(
            "a whole struct is assigned, and `{name}` holds {element}", "assign the members one by one"
        ),
    ),
    code(
        "TG0411",
        "a condition that is no bool",
        "`where` takes a bool; a number is compared first.",
        spec("in x: i32[N]", "out y: i32[N]", "y[i] = where(x[i], 1, 0)"),
        case("a condition is a bool, and this is {type}", _COMPARE),
    ),
    code(
        "TG0412",
        "a cast that has no value",
        "A complex number has several real numbers in it, and `inf` and `nan` no integer.",
        spec("in x: c64[N]", "out y: f32[N]", "y[i] = f32(x[i])"),
        float=case("`{value}` has no value in {type}", "write an integer, or cast to a float type"),
        complex=case("{source} cannot be cast to {type}", "take `real(…)`, `imag(…)` or `abs(…)`"),
    ),
)
