"""The array API standard."""
