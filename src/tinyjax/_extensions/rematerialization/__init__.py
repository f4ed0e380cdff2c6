"""Reverse mode within a memory budget: a plan of what to keep and what to compute again.

A program is divided into blocks, each of which ends with one operation that is worth keeping. A
minimal cut of each block is kept, from which the backward pass computes the rest without such
operations (``cut``). Sequences of blocks may keep nothing inside and run again as a whole, and
loops may keep few states. A dynamic program chooses (``chain``). The peak of the result is
predicted from the liveness of its arrays (``liveness``). The plan is expressed with ``checkpoint``,
so that all transformations apply (``planning``, ``transformation``).
"""
