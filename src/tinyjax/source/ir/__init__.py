"""Programs in static single assignment form, and the front end that reads Python into them.

``program`` defines programs, and ``read`` makes one from a function. One walk over the syntax tree
writes the blocks (``read``, ``expressions``, ``functions``), and resolves variables on the way
(``blocks``). ``analysis`` is about the graph of blocks; ``assembly`` simplifies it and verifies its
invariants.
"""
