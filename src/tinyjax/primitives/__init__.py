"""The primitives, one file per family, every rule of a primitive in one place."""
