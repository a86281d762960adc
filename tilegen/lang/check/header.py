"""The kernel header: type parameters, sizes, scalar parameters; and the literals that stand for values."""

from __future__ import annotations

from tilegen.dtypes import BOOL, DTYPES, DType, Kind, largest, overflows
from tilegen.lang import syntax
from tilegen.lang.check.indices import fold_number, names_in
from tilegen.lang.check.problems import Problems
from tilegen.lang.check.scope import Fact, NameKind, Scope
from tilegen.lang.near import near_to
from tilegen.lang.source import Span
from tilegen.lang.spec import Size


def declare(scope: Scope, name: syntax.Ident, kind: NameKind, problems: Problems) -> bool:
    """Every name of a kernel is declared once."""
    if name.name not in scope.declared:
        scope.declared[name.name] = (kind, name.span)
        return True
    earlier, span = scope.declared[name.name]
    problems.report("TG0201.name", name.span, name=name.name, kind=earlier, earlier=span)
    for table in (scope.sizes, scope.scalars, scope.type_params, scope.tensors, scope.lets):
        table.pop(name.name, None)
    scope.unknown(name.name)
    return False


def resolve_header(kernel: syntax.KernelDecl, problems: Problems) -> Scope:
    scope = Scope()
    for parameter in kernel.type_params:
        if declare(scope, parameter.name, NameKind.TYPE_PARAMETER, problems):
            scope.type_params[parameter.name.name] = _choices(parameter, scope, problems)
    for declaration in kernel.parameters:
        match declaration:
            case syntax.SizeDecl():
                if declare(scope, declaration.name, NameKind.SIZE, problems):
                    _size(declaration, scope, problems)
            case syntax.ScalarDecl():
                if declare(scope, declaration.name, NameKind.SCALAR, problems):
                    scope.scalars[declaration.name.name] = declaration
                    require_type(declaration.type, scope, problems)
    return scope


def _choices(parameter: syntax.TypeParamDecl, scope: Scope, problems: Problems) -> tuple[DType, ...]:
    name = parameter.name.name
    chosen: dict[str, DType] = {}
    listed = [choice.name for choice in parameter.choices]
    for earlier, choice in zip((None, *parameter.choices), parameter.choices, strict=False):
        if choice.name in chosen and earlier is not None:
            rest = Span(choice.span.source, earlier.span.end, choice.span.end)
            problems.report("TG0203", choice.span, name=name, choice=choice.name, rest=rest)
        elif choice.name not in DTYPES:
            problems.report(
                "TG0202", choice.span, name=near_to(choice.name, [t for t in DTYPES if t not in listed])
            )
            scope.doubt(Fact.CHOICES, name)
        else:
            chosen[choice.name] = DTYPES[choice.name]
    return tuple(chosen.values())


def require_type(name: syntax.TypeName, scope: Scope, problems: Problems) -> None:
    """The name of a type, or of a type parameter; one that is unknown is told once."""
    if name.name not in scope.type_params and name.name not in DTYPES and scope.sure(Fact.MEANING, name.name):
        problems.report("TG0202", name.span, name=near_to(name.name, [*scope.type_params, *DTYPES]))
        scope.unknown(name.name)


def _size(declaration: syntax.SizeDecl, scope: Scope, problems: Problems) -> None:
    name, value = declaration.name.name, None
    if declaration.value is not None:
        value = compile_time_value(declaration.value, scope, problems)
        if value is None:
            scope.doubt(Fact.MEANING, name)
            return
    scope.sizes[name] = Size(name, value, declaration.name.span)


def compile_time_value(value: syntax.Expression, scope: Scope, problems: Problems) -> int | None:
    """A constant integer >= 0; earlier compile-time sizes may be used."""
    before = len(problems.found)
    number = fold_number(value, scope, problems)
    if number is not None and number >= 0:
        return number
    if len(problems.found) == before and all(scope.sure(Fact.MEANING, name) for name in names_in(value)):
        problems.report("TG0204", value.span, number=number)
    return None


Number = int | float | bool


def constant_number(expression: syntax.Expression | syntax.Star) -> Number | None:
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


def whole_number(expression: syntax.Expression | syntax.Star, least: int = 0) -> int | None:
    """As `constant_number`, of an integer that is at least `least`."""
    number = constant_number(expression)
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= least else None


def literal_of(
    value: Number, dtype: DType, span: Span, problems: Problems, in_expression: bool = False
) -> Number | None:
    """`value` as a number of type `dtype`; an error where that type cannot hold it. `in_expression`: it meets an
    operand that may be cast."""
    shown = show_number(value)
    if isinstance(value, bool) or dtype is BOOL:
        if isinstance(value, bool) and dtype is BOOL:
            return value
        problems.report("TG0401.bool" if dtype is BOOL else "TG0401.number", span, value=shown, type=dtype)
        return None
    if not dtype.is_integer:
        return float(value)
    low, high = integer_limits(dtype)
    if isinstance(value, float):
        whole = int(value) if value.is_integer() and low <= value <= high else None
        wide = "f32" if in_expression else None
        problems.report("TG0401.float", span, value=shown, type=dtype, whole=whole, wide=wide)
    elif low <= value <= high:
        return value
    else:
        wide = ("i32" if -(1 << 31) <= value < 1 << 31 else "i64") if in_expression else None
        problems.report("TG0401.range", span, value=shown, type=dtype, low=low, high=high, wide=wide)
    return None


def integer_limits(dtype: DType) -> tuple[int, int]:
    bits = 8 * dtype.size
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.kind is Kind.INT else (0, (1 << bits) - 1)


def parameter_value(value: Number, dtype: DType, span: Span, problems: Problems) -> Number | None:
    """`value` as that of a scalar parameter, which is stored in its type: what would become infinite is an error."""
    fitted = literal_of(value, dtype, span, problems)
    if dtype.kind is Kind.FLOAT and fitted is not None and overflows(fitted, dtype):
        most = f"{largest(dtype):g}"
        problems.report("TG0401.infinite", span, value=show_number(value), type=dtype, largest=most)
        return None
    return fitted


def show_number(value: Number) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
