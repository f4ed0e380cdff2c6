"""The cache of compiled programs on disk, where JAX has it: see ``compilation_cache``."""
