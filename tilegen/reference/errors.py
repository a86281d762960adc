"""What a call can get wrong: facts about actual sizes and arrays that the checked spec cannot know."""

from __future__ import annotations


class EvaluationError(ValueError):
    """A kernel has no value for these arguments."""


class SizeError(EvaluationError):
    """Arrays and sizes that contradict each other, or that leave a size open."""


class OutOfBoundsError(EvaluationError):
    """A read or write outside a tensor, at a point that counts."""


class EmptyReductionError(EvaluationError):
    """`max`, `min`, `mean`, `argmax` or `argmin` over nothing."""
