"""Pulumi components: one a module, each a function from typed arguments to resources."""
