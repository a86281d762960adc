"""Tensors: their declarations, layouts and memories."""
