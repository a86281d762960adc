"""The kernel header: type parameters, sizes, scalar parameters; and the literals that stand for values."""

from __future__ import annotations

from tilegen.dtypes import BOOL, DTYPES, DType, Kind, largest, overflows
from tilegen.lang import syntax
from tilegen.lang.check.indices import DividesByZero, fold
from tilegen.lang.check.problems import Problems, suggestion
from tilegen.lang.check.scope import Scope
from tilegen.lang.source import Span
from tilegen.lang.spec import Size


def declare(scope: Scope, name: syntax.Ident, kind: str, problems: Problems) -> bool:
    """Every name of a kernel is declared once."""
    if name.name not in scope.declared:
        scope.declared[name.name] = (kind, name.span)
        return True
    earlier, span = scope.declared[name.name]
    problems.error(
        "TG0201",
        f"`{name.name}` is already the name of a {earlier}",
        name.span,
        labels=[(span, "first declared here")],
        help="choose another name",
    )
    for table in (scope.sizes, scope.scalars, scope.type_params, scope.tensors, scope.lets):
        table.pop(name.name, None)
    scope.broken.add(name.name)
    return False


def resolve_header(kernel: syntax.KernelDecl, problems: Problems) -> Scope:
    scope = Scope()
    for parameter in kernel.type_params:
        if declare(scope, parameter.name, "type parameter", problems):
            scope.type_params[parameter.name.name] = _choices(parameter, problems)
    for declaration in kernel.parameters:
        match declaration:
            case syntax.SizeDecl():
                if declare(scope, declaration.name, "size", problems):
                    _size(declaration, scope, problems)
            case syntax.ScalarDecl():
                if declare(scope, declaration.name, "scalar parameter", problems):
                    scope.scalars[declaration.name.name] = declaration
    return scope


def _choices(parameter: syntax.TypeParamDecl, problems: Problems) -> tuple[DType, ...]:
    chosen: dict[str, DType] = {}
    for choice in parameter.choices:
        if choice.name in chosen:
            problems.error(
                "TG0203",
                f"`{parameter.name.name}` lists `{choice.name}` twice",
                choice.span,
                help="remove one of them",
            )
        elif choice.name not in DTYPES:
            problems.error(
                "TG0202",
                f"unknown type `{choice.name}`",
                choice.span,
                help=suggestion(choice.name, DTYPES, "types"),
            )
        else:
            chosen[choice.name] = DTYPES[choice.name]
    return tuple(chosen.values())


def _size(declaration: syntax.SizeDecl, scope: Scope, problems: Problems) -> None:
    name, value = declaration.name.name, None
    if declaration.value is not None:
        value = compile_time_value(declaration.value, scope, problems)
        if value is None:
            scope.broken.add(name)
            return
    scope.sizes[name] = Size(name, value, declaration.name.span)


def compile_time_value(value: syntax.Expression, scope: Scope, problems: Problems) -> int | None:
    """A constant integer >= 0; earlier compile-time sizes may be used."""
    from tilegen.algebra import substitute

    defaults = scope.defaults
    try:
        folded = fold(value, defaults.__contains__, defaults)
    except DividesByZero as error:
        error.report(problems)
        return None
    number = None if folded is None else substitute(folded, dict(defaults)).constant
    if number is not None and number >= 0:
        return number
    problems.error(
        "TG0204",
        "a compile-time size must be a constant integer, 0 or more",
        value.span,
        note=f"this is {number}" if number is not None else (),
        help="a size that is known at run time has no value here: write its name alone",
    )
    return None


def resolve_type(name: syntax.TypeName, types: dict[str, DType], problems: Problems) -> DType | None:
    """A scalar type by name; `types` are the choices made for the type parameters."""
    found = types.get(name.name) or DTYPES.get(name.name)
    if found is None:
        problems.error(
            "TG0202",
            f"unknown type `{name.name}`",
            name.span,
            help=suggestion(name.name, [*types, *DTYPES], "types"),
        )
    return found


Number = int | float | bool


def constant_number(expression: syntax.Expression) -> Number | None:
    """The number a literal, negated or not, stands for."""
    match expression:
        case syntax.IntLiteral() | syntax.FloatLiteral() | syntax.BoolLiteral():
            return expression.value
        case syntax.UnaryExpression(op="-" | "+"):
            value = constant_number(expression.operand)
            if value is None or isinstance(value, bool):
                return None
            return -value if expression.op == "-" else value
        case _:
            return None


def integer_limits(dtype: DType) -> tuple[int, int]:
    bits = 8 * dtype.size
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.kind is Kind.INT else (0, (1 << bits) - 1)


def literal_of(value: Number, dtype: DType, span: Span, problems: Problems) -> Number | None:
    """`value` as a number of type `dtype`; an error where that type cannot hold it."""
    if isinstance(value, bool) or dtype is BOOL:
        if isinstance(value, bool) and dtype is BOOL:
            return value
        problems.error(
            "TG0401",
            f"`{show_number(value)}` is not a {dtype}",
            span,
            help="write `true` or `false`" if dtype is BOOL else f"write a number, or cast: `{dtype}(…)`",
        )
        return None
    if dtype.is_integer:
        low, high = integer_limits(dtype)
        if isinstance(value, float):
            problems.error(
                "TG0401",
                f"`{show_number(value)}` is a float and meets the integer type {dtype}",
                span,
                note="a literal takes the type of the other operand",
                help="cast the integer to a float type first, for example `f32(…)`, or write an integer literal",
            )
            return None
        if not low <= value <= high:
            problems.error(
                "TG0401",
                f"{dtype} cannot hold `{value}`",
                span,
                note=f"{dtype} holds {low} to {high}",
                help=f"cast the other operand to a wider type, for example `{_wider(value)}(…)`",
            )
            return None
        return value
    return float(value)


def parameter_value(value: Number, dtype: DType, span: Span, problems: Problems) -> Number | None:
    """`value` as that of a scalar parameter, which is stored in its type: what would become infinite is an error."""
    fitted = literal_of(value, dtype, span, problems)
    if dtype.kind is Kind.FLOAT and fitted is not None and overflows(fitted, dtype):
        problems.error(
            "TG0401",
            f"{dtype} cannot hold `{show_number(value)}`",
            span,
            note=f"the largest {dtype} is {largest(dtype):g}",
            help="write a smaller number, or give the parameter a wider type",
        )
        return None
    return fitted


def _wider(value: int) -> str:
    return "i32" if -(1 << 31) <= value < 1 << 31 else "i64"


def show_number(value: Number) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
