"""Kernels whose blocks compute tiles: every element of the output by itself."""
