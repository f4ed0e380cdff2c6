"""The primitives of control flow and their parameters, and how they are bound.

Their rules are in ``cond``, ``scan`` and ``while_loop``. What the rules are made of binds the
primitives in its turn, and so they are declared below it, each in a module of its own: attrs takes
a third of a millisecond for the class of parameters of each.
"""
