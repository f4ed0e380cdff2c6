"""Derivatives of choices: what is not taken does not count, whatever its derivative.

Of ``where(x > 0, sqrt(x), 0)`` the root is not taken at 0. Its cotangent there is zero and its
slope is infinite, and their product is NaN. So where a linear program has a ``select``, a backward
pass knows of each cotangent, besides its value, where it was chosen: a mask. A mask goes back
through what moves elements, and what computes each of those in its place. A cotangent that was
multiplied by numbers that may be infinite is chosen by its mask: it is zero where nothing was
taken. Where a value is used twice, it was chosen if one of its uses was.

A zero that comes of arithmetic has no mask, so products with it are what IEEE 754 says.

``masks.py`` has the rules of masks, ``programs.py`` takes them into programs and out of them, and
``backward.py`` is what the core's ``Transposer`` asks where there is a choice among its equations.
"""
