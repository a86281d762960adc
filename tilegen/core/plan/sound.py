"""What holds of every plan, whatever family made it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilegen.core.plan.model import Barrier, Compute, Load, Phase, Plan, Repeat, every_phase


def require_sound(plan: Plan) -> None:
    """Raises AssertionError: such a plan is a fault of tilegen, not of a spec."""
    tiled = [t.axis for t in plan.tiles]
    assert len(set(tiled)) == len(tiled), f"an axis is tiled twice: {tiled}"
    assert set(plan.raster) <= set(tiled), f"blocks walk {plan.raster}, tiles are along {tiled}"
    assert 1 <= plan.threads <= plan.target.max_threads_per_block, f"{plan.threads} threads"
    for tile in plan.tiles:
        assert min(tile.margin) >= 0, f"margin {tile.margin} along {tile.axis}"
        assert tile.ragged or not any(tile.margin), f"a margin along {tile.axis} is not guarded"
    names = [b.name for b in plan.buffers]
    filled = [p.buffer.name for p in every_phase(plan.phases) if isinstance(p, Load)]
    assert sorted(names) == sorted(filled), f"buffers {names}, of which {filled} are filled"
    _Block().walk(plan.phases)


@dataclass(slots=True)
class _Block:
    """A block on its way through phases. `filled`: buffers with a tile in them; `there`: those that all threads may
    read; `in_use`: those that some thread may still read; `spare`: those of which another copy is filled."""

    filled: set[str] = field(default_factory=set)
    there: set[str] = field(default_factory=set)
    in_use: set[str] = field(default_factory=set)
    spare: set[str] = field(default_factory=set)

    def walk(self, phases: Iterable[Phase], steps: tuple[str, ...] = ()) -> None:
        """`steps`: axes of the repetitions that the phases are in."""
        for phase in phases:
            match phase:
                case Load():
                    name = phase.buffer.name
                    assert name not in self.in_use - self.spare, f"{name} is filled while it may be read"
                    self.filled.add(name)
                    self.there.discard(name)
                case Barrier():
                    self.there |= self.filled
                    self.in_use.clear()
                case Compute():
                    read = {buffer.name for _, buffer in phase.staged}
                    assert read <= self.there, f"{sorted(read - self.there)} are read before a barrier"
                    self.in_use |= read
                case Repeat():
                    self.repeat(phase, steps)
                case _:
                    pass

    def repeat(self, phase: Repeat, steps: tuple[str, ...]) -> None:
        inner = {p.buffer.name for p in phase.phases if isinstance(p, Load)}
        assert phase.phases, f"nothing is done along {phase.axis}"
        assert phase.axis not in steps, f"{phase.axis} is walked inside itself"
        assert phase.buffers == 1 or (phase.buffers > 1 and inner), f"{phase.buffers} of no buffer"
        self.spare |= inner if phase.buffers > 1 else set()
        for _ in range(2):  # the second step comes after the first
            self.walk(phase.phases, (*steps, phase.axis))
        self.spare -= inner
