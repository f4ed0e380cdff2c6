"""Types and values: shapes, dtypes, arrays, and what becomes an array."""
