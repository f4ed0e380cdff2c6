"""Extensions of the core: modules behind its hooks, and evaluators besides its own.

They import the core and its primitives, and may be removed one by one. The core requests an
extension by its key (``_base/lazy.py``), which ``_startup.py`` registers; the library imports them.
"""
