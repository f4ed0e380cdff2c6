"""What writes the tables, pages and stubs of the project, and checks them; each is a program.

``python -m tools.budgets`` runs one, in ``tests/``.
"""
