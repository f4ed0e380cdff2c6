"""One compiled program for a bucket of lengths: ``jit(f, pad_to=...)``.

``function`` stages a function once, for axes of symbolic sizes. ``programs`` has the primitive that
calls such a program, and what makes of it the program of a bucket: arrays have the sizes of the
bucket, and their true lengths are arguments. ``rules`` says of each primitive how it gives the same
results for arrays that are longer than they say.
"""
