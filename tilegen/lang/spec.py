"""The checked spec: typed, resolved, legal. Holding a `Kernel` means that every rule of the language was applied.

One `Kernel` per kernel and choice of types. Sizes stay symbols (compile-time sizes too: their default is in
`sizes`); extents, index expressions and strides are `algebra.Expr` over size and axis names. Implicit conversions of
the language are explicit `Cast` nodes here: both operands of a `Binary` have its operands' type, floats below f32 are
cast to f32 before arithmetic and back when stored; pure movement has no cast. This is the artefact that the NumPy
reference, the schedules and the plan read. It is not what the user wrote (that is `syntax.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import field
from enum import Enum
from typing import ClassVar

from tilegen.algebra import Expr
from tilegen.dtypes import DType, ElementType
from tilegen.frozen import HashedOnce, dataclass
from tilegen.lang.source import Source, Span


@dataclass(frozen=True, slots=True)
class Spec:
    """All kernels of one file, in order."""

    source: Source = field(repr=False, compare=False)
    kernels: tuple[KernelFamily, ...]


@dataclass(frozen=True, slots=True)
class KernelFamily:
    """A kernel with its type parameters: one checked `Kernel` per choice of types, the first is the default."""

    name: str
    type_params: tuple[TypeParam, ...]
    kernels: tuple[Kernel, ...]
    schedules: tuple[ScheduleSpec, ...]
    tests: tuple[Test, ...]
    expectations: tuple[Expectation, ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TypeParam:
    name: str
    choices: tuple[DType, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """A size. `default` is its compile-time value (`K = 128`), None for a run-time size."""

    name: str
    default: int | None
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar parameter; `default` is a Python number or None."""

    name: str
    dtype: DType
    default: int | float | bool | None
    span: Span = field(repr=False, compare=False)


class Role(Enum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"


class Boundary(Enum):
    """What a read outside the extents gives; names as in numpy.pad."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True)
class Aos:
    """Array of structs: whole elements, C's padding rules."""


@dataclass(frozen=True, slots=True)
class Soa:
    """One array (and one pointer) per field; `strides` and `offset` count elements of each of them."""


@dataclass(frozen=True, slots=True)
class Aosoa:
    """Blocks of `block` elements along the fastest axis; inside a block one run per field, in field order, each field's
    run at the offset C gives a struct of arrays `{ f0[block]; f1[block]; … }`. The last block is whole in memory."""

    block: int


StructPlacement = Aos | Soa | Aosoa


@dataclass(frozen=True, slots=True)
class Texture:
    filter: str
    address: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in global memory.

    `extents`: one Expr over sizes per axis. `strides`: one per axis, in elements, an Expr over sizes, or None where
    the spec says `*` (taken from the array passed). For `Aosoa` the strides count elements as if dense; `address`
    rules are in `Aosoa`. `offset` in elements. `align`: promised pointer alignment in bytes, None if only natural.
    `order`: dimensions from slowest to fastest in memory, as far as the spec says (identity when strides are given).
    """

    name: str
    role: Role
    element: ElementType
    extents: tuple[Expr, ...]
    strides: tuple[Expr | None, ...]
    order: tuple[int, ...]
    offset: Expr
    align: int | None
    placement: StructPlacement
    boundary: Boundary | None
    boundary_value: int | float | complex | bool
    constant: bool
    texture: Texture | None
    span: Span = field(repr=False, compare=False)

    @property
    def rank(self) -> int:
        return len(self.extents)


# Values ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis with its range `lower <= axis < upper`; over sizes, and for a reduction also over outer axes (scans)."""

    name: str
    lower: Expr
    upper: Expr
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Literal:
    value: int | float | bool
    dtype: DType


@dataclass(frozen=True, slots=True)
class ScalarRead:
    """A scalar parameter."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class IndexValue(HashedOnce):
    """An integer expression of axes and sizes used as a value (dtype i64)."""

    index: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Read(HashedOnce):
    """A tensor element. An index is an `Expr` over axes and sizes or, for a gather, an integer `Value`.

    `field` names a struct member; `dtype` is the member's type (or the element's). Whole-struct assignments are
    expanded to one assignment per member.
    `needs_boundary`: False where the index is proved inside the extents for every dimension.
    """

    tensor: str
    indices: tuple[Expr | Value, ...]
    field: str | None
    dtype: DType
    needs_boundary: tuple[bool, ...]
    span: Span = dataclasses.field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class LocalRead:
    """A `let`, at index expressions over axes and sizes."""

    name: str
    indices: tuple[Expr, ...]
    dtype: DType
    span: Span = field(repr=False, compare=False)


class UnaryOp(Enum):
    NEGATE = "-"
    NOT = "not"


class BinaryOp(Enum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    FLOOR_DIVIDE = "//"
    REMAINDER = "%"
    POWER = "**"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "and"
    OR = "or"


@dataclass(frozen=True, slots=True)
class Unary(HashedOnce):
    op: UnaryOp
    operand: Value
    dtype: DType


@dataclass(frozen=True, slots=True)
class Binary(HashedOnce):
    """Both operands have one dtype; `dtype` is that type, or bool for comparisons and `and`/`or`."""

    op: BinaryOp
    left: Value
    right: Value
    dtype: DType


@dataclass(frozen=True, slots=True)
class Where(HashedOnce):
    """Only the side chosen is read. `condition` is bool; both sides have `dtype`."""

    condition: Value
    then: Value
    otherwise: Value
    dtype: DType


@dataclass(frozen=True, slots=True)
class Cast(HashedOnce):
    """Conversion to `dtype`: floats round to nearest even; float to integer truncates towards zero."""

    operand: Value
    dtype: DType


@dataclass(frozen=True, slots=True)
class Call(HashedOnce):
    """A named function of LANGUAGE.md section 5 (`exp`, `maximum`, `gelu`, …), arguments already converted."""

    function: str
    arguments: tuple[Value, ...]
    dtype: DType


class Reduction(Enum):
    SUM = "sum"
    PROD = "prod"
    MAX = "max"
    MIN = "min"
    MEAN = "mean"
    ANY = "any"
    ALL = "all"
    COUNT = "count"
    ARGMAX = "argmax"
    ARGMIN = "argmin"


@dataclass(frozen=True, slots=True)
class Reduce(HashedOnce):
    """A reduction of `body` over `axes`. `dtype` is the accumulation type (i64 for arg-reductions).

    `count` has the integer type it is stored in (i32, u32, i64, u64), else i32. The body has the accumulation type; for
    `any`, `all` and `count` it is bool, for arg-reductions what it is computed in.
    """

    op: Reduction
    axes: tuple[Axis, ...]
    body: Value
    dtype: DType
    span: Span = field(repr=False, compare=False)


Value = Literal | ScalarRead | IndexValue | Read | LocalRead | Unary | Binary | Where | Cast | Call | Reduce


@dataclass(frozen=True, slots=True)
class Assign:
    """`tensor[indices].field = value` for every point of `axes` (in order of appearance on the left).

    `value.dtype` equals the element's (or member's) type. The left-hand side is one-to-one.
    """

    tensor: str
    indices: tuple[Expr, ...]
    field: str | None
    axes: tuple[Axis, ...]
    value: Value
    span: Span = dataclasses.field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Let:
    """A local value, one per point of `axes`. `indices` of a `LocalRead` are in the order of `axes`."""

    name: str
    axes: tuple[Axis, ...]
    value: Value
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RuntimeBound:
    """A bound only actual sizes can decide: 0 <= `index` < `extent` for all `axes`, checked at the call.

    `guards`: it need hold only where all of them are >= 0 (a `where` around the read). `by_defaults`: proved for the
    values that compile-time sizes have in the spec, so that only a caller who overrides one has to check it.
    """

    tensor: str
    dimension: int
    index: Expr
    extent: Expr
    axes: tuple[Axis, ...]
    span: Span = field(repr=False, compare=False)
    guards: tuple[Expr, ...] = ()
    by_defaults: bool = False


@dataclass(frozen=True, slots=True)
class RuntimeCondition:
    """`value >= 0` must hold at a call in which all of `axes` have a point; `target`, a left-hand side, then
    writes each element once."""

    value: Expr
    axes: tuple[Axis, ...]
    target: str
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel for one choice of types. `statements` in source order (a let precedes its uses).

    `bindings`: equalities that sizes must satisfy at a call, as (expression, expression) pairs, from axes that index
    several dimensions. `runtime_bounds`, `runtime_conditions`: what the call must check
    (`tilegen.lang.check.call_problems` does it all).
    """

    name: str
    types: tuple[tuple[str, DType], ...]
    sizes: tuple[Size, ...]
    scalars: tuple[Scalar, ...]
    tensors: tuple[Tensor, ...]
    statements: tuple[Let | Assign, ...]
    bindings: tuple[tuple[Expr, Expr], ...]
    runtime_bounds: tuple[RuntimeBound, ...]
    span: Span = field(repr=False, compare=False)
    runtime_conditions: tuple[RuntimeCondition, ...] = ()

    def tensor(self, name: str) -> Tensor:
        return next(t for t in self.tensors if t.name == name)

    @property
    def assigns(self) -> tuple[Assign, ...]:
        return tuple(s for s in self.statements if isinstance(s, Assign))


# Schedules as checked against the kernel's names; whether a family can honour them is decided in `families/`.
# A value is a tuple of choices: one for a plain value, several for a family of variants.


class Word(Enum):
    """What a directive starts with."""

    AT = "at"
    TILE = "tile"
    THREADS = "threads"
    STAGE = "stage"
    KEEP = "keep"
    VECTOR = "vector"
    IN_FLIGHT = "in_flight"
    BLOCKS = "blocks"
    CLUSTER = "cluster"
    UNROLL = "unroll"
    BOUNDS = "bounds"
    RASTER = "raster"
    HINT = "hint"
    MAX_REGISTERS = "max_registers"
    MIN_BLOCKS = "min_blocks"
    INDEX = "index"
    OTHERWISE = "otherwise"


class Placement(Enum):
    """How rows of a staged tile are kept off each other's banks. BEST: whichever has the fewest conflicts."""

    PLAIN = "plain"
    PADDED = "pad"
    SWIZZLED = "swizzle"
    BEST = "auto"


class Memory(Enum):
    """Where `keep` keeps what is needed again."""

    REGISTERS = "registers"
    SHARED = "shared"


class Bounds(Enum):
    GUARD = "guard"
    SPLIT = "split"
    EXACT = "exact"


class Hint(Enum):
    STREAMING = "streaming"
    READONLY = "readonly"
    EVICT_LAST = "evict_last"
    SECTORS = "sectors"
    DEFAULT = "default"


class IndexType(Enum):
    I32 = "i32"
    I64 = "i64"
    AUTO = "auto"


@dataclass(frozen=True, slots=True)
class NumbersDirective:
    """Numbers by name: of an axis (`i*j` for the one that is both), a tensor or a size; None for a bare number."""

    word: Word
    entries: tuple[tuple[str | None, tuple[int, ...]], ...]
    span: Span = field(repr=False, compare=False)
    spans: tuple[Span, ...] = field(repr=False, compare=False, default=())


@dataclass(frozen=True, slots=True)
class StageDirective:
    """`pads`: choices of padding in elements, for PADDED. `buffers`/`asynchronous` as said."""

    tensors: tuple[str, ...]
    placement: Placement
    pads: tuple[int, ...]
    buffers: tuple[int, ...]
    asynchronous: bool
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.STAGE


@dataclass(frozen=True, slots=True)
class KeepDirective:
    """`tensors`: those of which it is said; none where all is meant."""

    tensors: tuple[str, ...]
    memory: Memory
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.KEEP


@dataclass(frozen=True, slots=True)
class BoundsDirective:
    choices: tuple[Bounds, ...]
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.BOUNDS


@dataclass(frozen=True, slots=True)
class RasterDirective:
    """Axes slowest first; `group`: that many tiles of the slowest axis walk together (choices), (1,) for none."""

    axes: tuple[str, ...]
    group: tuple[int, ...]
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.RASTER


@dataclass(frozen=True, slots=True)
class HintDirective:
    tensor: str
    choices: tuple[Hint, ...]
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.HINT


@dataclass(frozen=True, slots=True)
class IndexDirective:
    choices: tuple[IndexType, ...]
    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.INDEX


@dataclass(frozen=True, slots=True)
class OtherwiseDirective:
    """What follows is a schedule for launches that what stands before does not serve."""

    span: Span = field(repr=False, compare=False)
    word: ClassVar[Word] = Word.OTHERWISE


Directive = (
    NumbersDirective
    | StageDirective
    | KeepDirective
    | BoundsDirective
    | RasterDirective
    | HintDirective
    | IndexDirective
    | OtherwiseDirective
)


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    name: str
    directives: tuple[Directive, ...]
    span: Span = field(repr=False, compare=False)


# Tests and expectations --------------------------------------------------------------------------------------------


class Fill(Enum):
    INDEX = "index"
    NORMAL = "normal"
    UNIFORM = "uniform"
    NAN = "nan"


@dataclass(frozen=True, slots=True)
class Test:
    """`sizes`, `scalars`, `types`: as written; what is missing has its default. `fill` None: chosen by the kernel."""

    sizes: tuple[tuple[str, int], ...]
    scalars: tuple[tuple[str, int | float | bool], ...]
    types: tuple[tuple[str, DType], ...]
    on_gpu: bool
    fill: Fill | None
    seed: int
    rtol: float | None
    atol: float | None
    span: Span = field(repr=False, compare=False)


class Unit(Enum):
    NUMBER = ""
    BYTES = "B"
    IDEAL = "ideal"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Condition:
    """`metric comparison value` with `value` in `unit` (BYTES: a plain number of bytes; IDEAL/COPY: a factor)."""

    metric: str
    comparison: BinaryOp
    value: float
    unit: Unit
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Expectation:
    """`schedule` None: every schedule. `at` empty: the largest test shape that fits the metric (LANGUAGE.md 7)."""

    schedule: str | None
    conditions: tuple[Condition, ...]
    at: tuple[tuple[str, int], ...]
    at_types: tuple[tuple[str, DType], ...]
    span: Span = field(repr=False, compare=False)


def children(value: Value) -> tuple[Value, ...]:
    """Direct operands, gathered indices included."""
    match value:
        case Literal() | ScalarRead() | IndexValue() | LocalRead():
            return ()
        case Read():
            return tuple(i for i in value.indices if not isinstance(i, Expr))
        case Unary() | Cast():
            return (value.operand,)
        case Binary():
            return (value.left, value.right)
        case Where():
            return (value.condition, value.then, value.otherwise)
        case Call():
            return value.arguments
        case Reduce():
            return (value.body,)


def walk(value: Value) -> Iterator[Value]:
    """`value` and everything below it, parents first."""
    yield value
    for child in children(value):
        yield from walk(child)
