"""Underflow in products: a part of a product may lie below the normal numbers although the whole does not."""

from __future__ import annotations

import numpy as np

from tilegen.numpy_types import Array
from tilegen.reference.number import Format


class Segments:
    """The least and the greatest product of neighbouring terms along dimension 0, as powers of two, piece by piece.

    Whatever the order of multiplications, a device holds products of neighbouring terms. One below the normal numbers
    is rounded to the least number, and what it is multiplied by later enlarges that.
    """

    def __init__(self) -> None:
        zero: Array = np.zeros((), np.float64)
        self._upto, self._top, self._bottom = zero, zero, zero
        self._least, self._most = zero, zero

    def add(self, sizes: Array) -> None:
        """Magnitudes of further terms; 1 where there is none. (A zero makes the product exactly zero.)"""
        if sizes.shape[0] == 0:
            return
        usable = np.isfinite(sizes) & (sizes > 0)
        upto = self._upto + np.add.accumulate(np.log2(np.where(usable, sizes, 1.0)), axis=0)
        before = np.concatenate([np.broadcast_to(self._upto, upto[:1].shape), upto[:-1]])
        top = np.maximum(self._top, np.maximum.accumulate(before, axis=0))
        bottom = np.minimum(self._bottom, np.minimum.accumulate(before, axis=0))
        self._least = np.minimum(self._least, (upto - top).min(axis=0))
        self._most = np.maximum(self._most, (upto - bottom).max(axis=0))
        self._upto, self._top, self._bottom = upto[-1], top[-1], bottom[-1]

    def floor(self, count: Array, form: Format) -> Array:
        """How far `count` roundings below the normal numbers may lead, in least numbers of the type."""
        # What a part is multiplied by: neighbours on both of its sides.
        grown = np.exp2(np.minimum(2 * self._most, 1000.0))
        return np.where(self._least < form.least_exponent + 1, count * grown, 0.0)
