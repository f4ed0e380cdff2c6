"""State: references, arrays that are written in place, and which keys have been used.

Both attach where functions are staged and called, by hooks (``core.tracing.staging.Note``).
"""
