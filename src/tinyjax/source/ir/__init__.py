"""Programs in static single assignment form, and the front end that reads Python into them.

``program`` says what a program is, ``read`` makes it of a function: one walk over the syntax tree
writes the blocks (``read``, ``expressions``, ``functions``), and finds on the way what each
variable is (``blocks``). ``analysis`` is about the graph of blocks, ``assembly`` simplifies it and
holds a program against its invariants.
"""
