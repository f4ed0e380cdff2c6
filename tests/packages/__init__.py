"""Functions of packages of the package index, called unchanged through ``source.capture``.

``python -m packages`` in ``tests/`` runs them and prints a table; ``nox -s packages`` has the
packages installed. Nothing of it belongs to the plain run, except that docs/packages.md shows what
was recorded in results.tsv.
"""
