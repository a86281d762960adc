"""Verification: cases, comparison with the reference, diagnosis of a mismatch, expectations."""

from tilegen.verify.compare import Mismatch, compare
from tilegen.verify.report import (
    Case,
    CaseResult,
    ExpectationResult,
    Variation,
    Verdict,
    VerifyReport,
)
from tilegen.verify.suite import Suite
from tilegen.verify.verify import verify_family, verify_kernel

__all__ = [
    "Case",
    "CaseResult",
    "ExpectationResult",
    "Mismatch",
    "Suite",
    "Variation",
    "Verdict",
    "VerifyReport",
    "compare",
    "verify_family",
    "verify_kernel",
]
