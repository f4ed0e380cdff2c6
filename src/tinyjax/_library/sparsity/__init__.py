"""Sparsity of Jacobians and Hessians: their zeros, and how few products compute them.

The tangent map of a function is a program in which everything is linear. ``rules`` has, for each of
its primitives, the elements of operands that each element of a result depends on. ``detection``
composes these to the pattern of the Jacobian. ``colouring`` finds rows or columns that one product
gives together, and ``derivatives`` computes these products. ``tinyjax.autodiff`` has the public
names.
"""
