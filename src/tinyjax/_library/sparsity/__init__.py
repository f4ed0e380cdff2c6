"""Where Jacobians and Hessians are zero, and how few products they take for that.

The tangent map of a function is a program in which everything is linear. ``rules`` says of each of
its primitives which elements of results depend on which of operands, ``detection`` puts that
together to the pattern of the Jacobian, ``colouring`` finds rows or columns that one product gives
together, and ``derivatives`` takes these products. ``tinyjax.autodiff`` has the names for users.
"""
