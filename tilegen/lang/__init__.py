"""The language: from text to a checked `Spec`."""
