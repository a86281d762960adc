"""A room for each family of kernels: what makes it different, from matching to the body of its kernels."""
