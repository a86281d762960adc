"""Kernels with prefix and suffix scans."""
