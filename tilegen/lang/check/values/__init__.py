"""Types of expressions: syntax to `spec.Value`, every implicit conversion made explicit."""
