"""Programs in static single assignment form, and the front end that reads Python into them.

``program`` says what a program is, ``read`` makes it of a function: one walk over the syntax tree
writes the blocks (``statements``, ``expressions``, ``functions``, ``inlining``), and finds on the
way what each variable is (``blocks``). ``analysis`` and ``simplify`` are about the graph of blocks,
``verify`` holds a program against its invariants, and ``interpret`` runs it.
"""
