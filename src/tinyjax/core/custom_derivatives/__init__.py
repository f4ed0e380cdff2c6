"""Functions with their own rules for derivatives and for ``vmap``."""
