"""CUDA C: what generated code is made of, and its names."""
