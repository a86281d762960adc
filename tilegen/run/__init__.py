"""The caller's arrays and kernels on a GPU. CuPy and torch are imported only for arrays of theirs and for launching."""
