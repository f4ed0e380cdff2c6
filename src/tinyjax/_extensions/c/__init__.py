"""Programs as C99: the extension behind ``tinyjax.export.c``.

A primitive has a rule under the key ``C``, which writes an equation. Elementwise operations, and
those that move elements, are *deferred*: their value is a function from an index to an expression,
and is written where it is read, so that chains become one loop. The others write statements.
"""
