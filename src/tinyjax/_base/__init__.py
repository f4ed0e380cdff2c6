"""What the core stands on: records, frames and tracebacks, lazy names, text of programs, threads.

Every module may import these; they import no other of the package but ``config``, ``dtypes`` and
``errors``, and of these only what lies below them.
"""
