"""Foundations of the core: records, frames and tracebacks, lazy names, text of programs, threads.

Every module may import these. They import no other module of the package but ``config``, ``dtypes``
and ``errors``, and only parts of these that lie below them.
"""
