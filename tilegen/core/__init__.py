"""What all families share on the way from a kernel to its plan."""
