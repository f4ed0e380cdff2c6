"""Foundations of public functions that no user imports: declared functions, sparsity, padding.

It may import the core, its extensions and the public library, which imports it.
"""
