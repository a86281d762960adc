"""The loop nest of a kernel: which axes are walked, and where in memory each access of one point lies."""

from tilegen.core.nest.build import build_nest
from tilegen.core.nest.model import Access, Nest, NestAxis, Pointer, Store

__all__ = ["Access", "Nest", "NestAxis", "Pointer", "Store", "build_nest"]
