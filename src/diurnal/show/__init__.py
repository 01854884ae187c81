"""Show: what people see of it all."""
