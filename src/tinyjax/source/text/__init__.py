"""Programs as Python: with ``if`` and ``while`` for blocks, names for variables, and a layout."""
