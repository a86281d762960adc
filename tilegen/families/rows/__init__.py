"""Kernels with reductions: threads walk rows, keep them, and put their results together."""
