"""What attaches to the core: rooms that answer its questions, and machines that evaluate otherwise.

They import the core and its primitives, and may be removed one by one. The core asks for them by a
word (``_base/lazy.py``), which ``_startup.py`` says; the library imports them.
"""
