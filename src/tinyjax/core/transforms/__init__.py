"""The transformations. Each is a trace in its own file, independent of particular primitives."""
