"""Programs of NumPy's arrays, run by ``source.capture``."""
