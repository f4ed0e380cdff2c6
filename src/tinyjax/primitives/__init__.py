"""Primitives of the library, one file per family, every rule of a primitive in one place."""
