"""The code of a kernel as a tree: C types, expressions, statements. It has no text and no names yet.

A `Variable` is an object: two are the same only if they are the same object. Names come last (`cuda.names`), text after
them (`cuda.printer`, templates/). What a tree uses or declares is asked in `cuda.queries`. It is not a compiler's
intermediate form: nothing here is optimised, and what it prints is what a person would have written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from tilegen.frozen import dataclass

# Types


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type by its name in C."""

    name: str


@dataclass(frozen=True, slots=True)
class VectorType:
    """A struct of `width` lanes of `element`, accessed `alignment` bytes at a time; `size` in bytes."""

    name: str
    element: Scalar
    width: int
    size: int
    alignment: int


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A member that a spec calls `key`; `offset` in bytes; `length`: of an array of them, None for one."""

    key: str
    name: str
    type: Scalar
    offset: int
    length: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StructType:
    """The element of a struct tensor, `size` bytes each; `wanted`: the name it would like."""

    wanted: str
    fields: tuple[Field, ...]
    size: int
    alignment: int

    def field(self, key: str) -> Field:
        return next(f for f in self.fields if f.key == key)


@dataclass(frozen=True, slots=True)
class Templated:
    """A type of the library of device functions, with arguments: `Indexed<float, index_t>`."""

    name: str
    arguments: tuple[CType | int, ...] = ()


CType = Scalar | VectorType | StructType | Templated

AUTO, BOOL = Scalar("auto"), Scalar("bool")
INT, UNSIGNED = Scalar("int"), Scalar("unsigned")
LONG_LONG, UNSIGNED_LONG_LONG = Scalar("long long"), Scalar("unsigned long long")
SIZE, BYTE = Scalar("size_t"), Scalar("unsigned char")
INDEX = Scalar(
    "index_t"
)  # the type parameter of every kernel: int, or long long where 32 bits are not enough


# Expressions


class Storage(Enum):
    """Where a variable lives. `NAMED`: it is declared elsewhere, under exactly the name it would like."""

    LOCAL = "local"
    SHARED = "shared"
    CONSTANT = "constant"
    PARAMETER = "parameter"
    NAMED = "named"


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A variable, an array of `shape`, or a pointer. `wanted`: the name it would like; `user`: a name of the spec."""

    wanted: str
    type: CType
    shape: tuple[Expression, ...] = ()
    storage: Storage = Storage.LOCAL
    user: bool = False


@dataclass(frozen=True, slots=True)
class Literal:
    """A number of type `type`: `int` where C's own rule for a plain number is meant."""

    value: int | float | bool
    type: Scalar = INT
    hexadecimal: bool = False


class Prefix(Enum):
    NEGATE = "-"
    NOT = "!"
    DEREFERENCE = "*"
    ADDRESS = "&"
    INVERT = "~"


class Infix(Enum):
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"
    ADD = "+"
    SUBTRACT = "-"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="
    BIT_AND = "&"
    BIT_XOR = "^"
    BIT_OR = "|"
    AND = "&&"
    OR = "||"


@dataclass(frozen=True, slots=True)
class Unary:
    op: Prefix
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    op: Infix
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Cast:
    """`static_cast`."""

    type: CType
    operand: Expression


@dataclass(frozen=True, slots=True)
class PointerCast:
    """`reinterpret_cast` to a pointer to `type`."""

    type: CType
    operand: Expression
    const: bool


@dataclass(frozen=True, slots=True)
class AddressNumber:
    """A pointer as a number, on the host."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Function:
    """What is called: a function of CUDA, or of the library of device functions where `library` names its entry.
    `template`: arguments of the template; `scope`: the struct whose static function it is."""

    name: str
    library: tuple[str, ...] = ()
    template: tuple[CType | Expression, ...] = ()
    scope: CType | None = None


@dataclass(frozen=True, slots=True)
class Call:
    function: Function
    arguments: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Instance:
    """A variable template of the library: `NO_INDEX<index_t>`."""

    of: Function


@dataclass(frozen=True, slots=True)
class Subscript:
    base: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Member:
    """`field`: a member of a struct of the spec, or of the library or CUDA by its name."""

    base: Expression
    field: Field | str


@dataclass(frozen=True, slots=True)
class Braces:
    """`type{items}`; without a type an initialiser."""

    type: CType | None
    items: tuple[Expression, ...] = ()


Expression = (
    Variable
    | Literal
    | Unary
    | Binary
    | Conditional
    | Cast
    | PointerCast
    | AddressNumber
    | Call
    | Instance
    | Subscript
    | Member
    | Braces
)


def named(name: str, type: CType = INT) -> Variable:
    """What CUDA or the library declares under this name, such as `blockIdx`."""
    return Variable(name, type, storage=Storage.NAMED)


THREAD, BLOCK, BLOCKS = (Member(named(n), "x") for n in ("threadIdx", "blockIdx", "gridDim"))
TRUE = Literal(True, BOOL)
NOTHING = Braces(None)


def number(value: int) -> Literal | Unary:
    """A plain number; C has no negative literals."""
    return Literal(value) if value >= 0 else Unary(Prefix.NEGATE, Literal(-value))


def _operand(value: Expression | int) -> Expression:
    return number(value) if isinstance(value, int) else value


def binary(op: Infix, left: Expression | int, right: Expression | int) -> Binary:
    return Binary(op, _operand(left), _operand(right))


def add(left: Expression | int, right: Expression | int) -> Expression:
    """A sum of indices, written without inner parentheses; the other operand where one is 0."""
    left, right = _operand(left), _operand(right)
    if right == Literal(0):
        return left
    if left == Literal(0):
        return right
    if isinstance(right, Binary) and right.op in (Infix.ADD, Infix.SUBTRACT):
        return Binary(right.op, add(left, right.left), right.right)
    return Binary(Infix.ADD, left, right)


def multiply(left: Expression | int, right: Expression | int) -> Expression:
    """A product of indices, written without inner parentheses; the other operand where one is 1."""
    left, right = _operand(left), _operand(right)
    if right == Literal(1):
        return left
    if left == Literal(1):
        return right
    if isinstance(right, Binary) and right.op is Infix.MULTIPLY:
        return Binary(Infix.MULTIPLY, multiply(left, right.left), right.right)
    return Binary(Infix.MULTIPLY, left, right)


def less(left: Expression | int, right: Expression | int) -> Binary:
    return binary(Infix.LESS, left, right)


def equal(left: Expression | int, right: Expression | int) -> Binary:
    return binary(Infix.EQUAL, left, right)


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """All conditions at once; None where there is none."""
    found: Expression | None = None
    for condition in conditions:
        found = condition if found is None else Binary(Infix.AND, found, condition)
    return found


def any_of(conditions: Iterable[Expression]) -> Expression | None:
    """At least one of the conditions; None where there is none."""
    found: Expression | None = None
    for condition in conditions:
        found = condition if found is None else Binary(Infix.OR, found, condition)
    return found


def negated(value: Expression) -> Unary:
    return Unary(Prefix.NEGATE, value)


def dereferenced(type: CType, place: Expression, const: bool = False) -> Expression:
    """What lies at `place`, as a `type`."""
    return Unary(Prefix.DEREFERENCE, PointerCast(type, place, const))


def address_of(place: Expression) -> Unary:
    return Unary(Prefix.ADDRESS, place)


def at(base: Expression, *indices: Expression | int) -> Expression:
    for index in indices:
        base = Subscript(base, _operand(index))
    return base


def lane_of(vector: Expression, lane: Expression | int) -> Expression:
    """A lane of a vector in a variable."""
    return Subscript(Member(vector, "lane"), _operand(lane))


def call(name: str, *arguments: Expression | int, template: tuple[CType | Expression, ...] = ()) -> Call:
    """A call of a function of CUDA."""
    return Call(Function(name, (), template), tuple(_operand(a) for a in arguments))


def library(
    name: str,
    *arguments: Expression | int,
    template: tuple[CType | Expression, ...] = (),
    entries: tuple[str, ...] = (),
) -> Call:
    """A call of a function of the library. `entries`: of the library, where they are not called as the function."""
    return Call(Function(name, entries or (name,), template), tuple(_operand(a) for a in arguments))


# Statements


@dataclass(frozen=True, slots=True)
class Declare:
    """A variable comes into being. `optional`: it is dropped where nothing uses it."""

    variable: Variable
    value: Expression | None = None
    const: bool = False
    optional: bool = False
    line: int | None = None


def optional(variable: Variable, value: Expression) -> Declare:
    """A constant that is dropped where nothing uses it."""
    return Declare(variable, value, const=True, optional=True)


def thread_number(variable: Variable) -> Declare:
    """The number of the thread in its block."""
    return optional(variable, Cast(INT, THREAD))


@dataclass(frozen=True, slots=True)
class Assign:
    """`op`: `=`, `+=`, `*=`, `/=`. `line`: of the spec, as everywhere."""

    target: Expression
    value: Expression
    op: str = "="
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """An expression for what it does."""

    expression: Expression
    line: int | None = None


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: Block
    otherwise: Block = ()


class Unroll(Enum):
    """How a loop is unrolled where no factor is given."""

    NOT_SAID = "not said"
    FULLY = "fully"


@dataclass(frozen=True, slots=True)
class For:
    """`variable` from `first` while it is less than `limit`, by `step`."""

    variable: Variable
    first: Expression
    limit: Expression
    body: Block
    step: Expression = Literal(1)
    unroll: Unroll | int = Unroll.FULLY


@dataclass(frozen=True, slots=True)
class Scope:
    """Statements in braces."""

    body: Block


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of the block wait for each other."""


@dataclass(frozen=True, slots=True)
class Return:
    """The thread is done."""


Words = tuple[str | Variable, ...]


def joined(variables: Iterable[Variable], between: str) -> Words:
    """Variables with words between them."""
    return tuple(w for n, v in enumerate(variables) for w in ((between, v) if n else (v,)))


@dataclass(frozen=True, slots=True)
class Comment:
    """A line that says why; variables in it get their names. Broken where it is too long."""

    words: Words


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A macro of a family's template, `file.macro`, with its holes: expressions, variables, types and blocks.

    `declares`: the variables that its text declares at its outermost level; `inner`: those inside loops or braces.
    `library`: entries of the library that its text calls."""

    macro: str
    holes: Mapping[str, Hole]
    declares: tuple[Variable, ...] = ()
    inner: tuple[Variable, ...] = ()
    library: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph: statements under a comment, set off by blank lines from what is around it."""

    comment: tuple[Comment, ...]
    body: Block


Statement = Declare | Assign | Run | If | For | Scope | Barrier | Return | Comment | Skeleton | Part
Block = tuple[Statement, ...]
Hole = Expression | CType | Block | str | bool | None


# A kernel


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter. `kind`: `pointer`, `scratch`, `size`, `stride` or `scalar`; `key` names what is passed."""

    kind: str
    key: str
    variable: Variable
    const: bool = False

    @property
    def pointer(self) -> bool:
        return self.kind in ("pointer", "scratch")


@dataclass(frozen=True, slots=True)
class SharedArray:
    """An array in shared memory. `offset`: bytes into the dynamic part, None for a static one."""

    variable: Variable
    comment: Comment
    aligned: bool = False
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Constant:
    variable: Variable
    value: int


@dataclass(frozen=True, slots=True)
class LaunchBounds:
    """What the compiler is told of launches: threads of a block, blocks of a multiprocessor at least, registers of a
    thread at most, blocks of a cluster."""

    threads: int
    min_blocks: int | None = None
    max_registers: int | None = None
    cluster: int = 1


@dataclass(frozen=True, slots=True)
class Body:
    """What a family decides of a kernel. `extent` completes "a block computes …"; `setup`: optional definitions before
    the phases."""

    extent: Words
    constants: tuple[Constant, ...]
    shared: tuple[SharedArray, ...]
    setup: Block
    phases: Block


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function, everything unused left out. `evicted`: pointers whose lines leave the L2 last. `types` and
    `library`: what it needs of the file, see `cuda.queries.needs`."""

    name: str
    comment: tuple[Comment, ...]
    bounds: LaunchBounds
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    shared: tuple[SharedArray, ...]
    evicted: tuple[Variable, ...]
    setup: Block
    phases: Block
    types: tuple[CType, ...] = ()
    library: frozenset[str] = frozenset()
