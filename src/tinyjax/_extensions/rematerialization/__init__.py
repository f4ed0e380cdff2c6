"""Reverse mode within a memory budget: what is kept, and what is computed again, is chosen.

A program is divided into blocks, each of which ends with one operation that is worth keeping. Of a
block a minimal cut is kept, from which the backward pass computes the rest without such operations
(``cut``). Sequences of blocks may keep nothing inside and run again as a whole, and loops may keep
few states. A dynamic program chooses (``chain``), and the peak of the result is predicted by
following which arrays are live (``liveness``). What is chosen is written with ``checkpoint``, so
that all transformations apply (``planning``, ``transformation``).
"""
