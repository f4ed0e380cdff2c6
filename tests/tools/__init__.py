"""Programs that write the tables, pages and stubs of the project, and check them.

``python -m tools.budgets`` runs one, in ``tests/``.
"""
