"""Derivatives of selections: unselected elements do not count, whatever their derivative.

In ``where(x > 0, sqrt(x), 0)`` the root is not selected at 0. Its cotangent there is zero and its
slope is infinite, and their product is NaN. So where a linear program has a ``select``, a backward
pass knows a mask of each cotangent: the elements that were selected. A mask goes back through
operations that move elements and through elementwise operations. A cotangent that was multiplied by
possibly infinite numbers is masked: it is zero where nothing was selected. A value that is used
twice is selected where one of its uses is.

A zero that results from arithmetic has no mask, so products with it follow IEEE 754.

``masks.py`` has the rules of masks, and ``programs.py`` passes them into and out of programs.
``backward.py`` is the hook of the core's ``Transposer`` for equations with a selection among them.
"""
