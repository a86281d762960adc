"""Render plans to one CUDA C file: kernels, and the C launcher that picks among them."""

from tilegen.render.file import Rendered, render

__all__ = ["Rendered", "render"]
