"""Which helper functions need which others; the order in which they are printed."""

from __future__ import annotations

_NEEDS = {
    "clip": ("minimum", "maximum"),
    "maximum_float": ("maximum",),
    "minimum_float": ("minimum",),
    "wrap": ("floor_mod",),
    "symmetric": ("floor_mod",),
    "reflect": ("floor_mod",),
    "Maximum": ("maximum",),
    "Minimum": ("minimum",),
    "FirstGreatest": ("Indexed",),
    "FirstLeast": ("Indexed",),
    "exchange_indexed": ("Indexed", "exchange"),
    "across_lanes": ("exchange",),
    "from_lane_indexed": ("Indexed", "from_lane"),
    "from_below_indexed": ("Indexed", "from_below"),
    "lanes_before": ("from_below", "from_lane"),
    "look_back": ("lanes_before",),
}
# What helpers need at global scope: nvcc defines this function there, NVRTC only knows how to compile calls of it.
OUTSIDE = {
    "evict_last": "// Part of the compiler.\n"
    'extern "C" __device__ void* __nv_associate_access_property('
    "const void* place, unsigned long long property);",
}
# Overloads that these have to see, where a file has them.
_SEES = {"Maximum": ("maximum_float",), "Minimum": ("minimum_float",)}


def in_order(names: set[str]) -> tuple[str, ...]:
    """`names` and what they need, each after what it needs, otherwise alphabetical."""
    done: dict[str, None] = {}

    def add(name: str) -> None:
        for needed in (*_NEEDS.get(name, ()), *(names & set(_SEES.get(name, ())))):
            add(needed)
        done[name] = None

    for name in sorted(names):
        add(name)
    return tuple(done)
