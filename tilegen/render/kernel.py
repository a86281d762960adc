"""From a `Plan` to the tree of its kernel: the body that its family makes, and of everything else what that uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilegen.core.nest.model import stride_symbol
from tilegen.core.plan.model import Plan
from tilegen.cuda.queries import needs, pruned, variables
from tilegen.cuda.scope import FileContext, KernelScope
from tilegen.cuda.tree import INDEX, Comment, Kernel, LaunchBounds, Parameter, Templated, Variable
from tilegen.dtypes import DType
from tilegen.families.registry import family_of
from tilegen.lang.spec import Cast, ScalarRead, walk

if TYPE_CHECKING:
    from collections.abc import Iterable


def kernel_of(plan: Plan, file: FileContext) -> Kernel:
    """Phases first: what they use decides which parameters, constants and definitions there are."""
    scope = KernelScope(plan, file)
    body = family_of(plan.nest.kernel).body(scope)
    phases, needed = pruned(body.phases)
    setup, needed = pruned(body.setup, needed)
    for array in body.shared:
        needed |= _variables_of(array.variable.shape)
    parameters = tuple(p for p in _parameters(scope) if p.variable in needed)
    evicted = tuple(v for v in _evicted(scope) if v in needed)
    types, library = needs((*setup, *phases))
    # Parameters and shared arrays stand outside the blocks.
    types += tuple(v.type for v in (*(p.variable for p in parameters), *(s.variable for s in body.shared)))
    library |= {t.name for t in types if isinstance(t, Templated)} | ({"evict_last"} if evicted else set())
    return Kernel(
        name=plan.name,
        comment=(
            *_statements(plan),
            Comment((f"{plan.threads} threads per block; a block computes ", *body.extent, ".")),
        ),
        bounds=_bounds(plan),
        parameters=parameters,
        constants=tuple(c for c in body.constants if c.variable in needed),
        shared=body.shared,
        evicted=evicted,
        setup=setup,
        phases=phases,
        types=types,
        library=library,
    )


def _variables_of(shape: Iterable[object]) -> set[Variable]:
    return {v for extent in shape for v in variables(extent)}  # type: ignore[arg-type]


def _statements(plan: Plan) -> tuple[Comment, ...]:
    """What is computed, in the words of the spec."""
    lines: dict[str, None] = {}
    for statement in plan.nest.kernel.statements:
        text = " ".join(line.split("#")[0].strip() for line in statement.span.text.splitlines()).strip()
        lines[text.encode("ascii", "backslashreplace").decode().rstrip("\\;")] = None
    return tuple(Comment((text,)) for text in lines)


def _bounds(plan: Plan) -> LaunchBounds:
    schedule = plan.schedule
    if schedule.max_registers is not None:
        return LaunchBounds(plan.threads, max_registers=schedule.max_registers)
    if plan.sectors is not None and schedule.min_blocks is None:
        return LaunchBounds(plan.threads)  # more registers than ptxas chooses keep other blocks away
    # Without the second argument ptxas spills the register transposes it could keep.
    blocks = min(schedule.min_blocks or 1, plan.target.max_threads_per_sm // plan.threads)
    return LaunchBounds(plan.threads, blocks, cluster=plan.cluster)


def _parameters(scope: KernelScope) -> tuple[Parameter, ...]:
    nest = scope.nest
    found = [Parameter("pointer", p.name, scope.pointer(p.name), const=not p.written) for p in nest.pointers]
    found += [Parameter("scratch", s.name, scope.scratch(s.name)) for s in scope.plan.scratch]
    keys = [("size", s.name) for s in nest.kernel.sizes]
    keys += [("stride", stride_symbol(t, d)) for t, d in nest.dynamic_strides]
    found += [Parameter(kind, key, scope.variable(key, key, INDEX, user=True)) for kind, key in keys]
    found += [Parameter("scalar", s.name, scope.scalar(s.name)) for s in nest.kernel.scalars]
    return tuple(found)


def _evicted(scope: KernelScope) -> tuple[Variable, ...]:
    """The pointers of the tensors that are to leave the L2 last."""
    return tuple(scope.pointer(p.name) for p in scope.nest.pointers if scope.evicted_last(p.tensor))


def computed_floats(plan: Plan) -> frozenset[DType]:
    """Narrow float types that appear in a conversion or as a scalar, and so need their C type."""
    found: set[DType] = set()
    for store in plan.nest.stores:
        for node in walk(store.value):
            if isinstance(node, Cast):
                found |= {node.operand.dtype, node.dtype}
            elif isinstance(node, ScalarRead):
                found.add(node.dtype)
    return frozenset(found)
