"""Mutants: is a mistake in the package noticed by its tests?

A mutant is one module of ``tinyjax`` with one small mistake, such as a lost sign or a wrong axis.
``nox -s mutants -- 300`` makes that many, runs tests on each, and lists those that survive.

- ``operators``: the table of mistakes, made in the syntax tree.
- ``population``: all mutants of the package, and a sample of them.
- ``loading``: imports modules with another syntax tree; no file is written.
- ``covering``: which tests run which blocks of code, and which tests a mutant should meet.
- ``trials``: mutants and tests brought together, in processes of their own.
- ``survivors``: why those that are known to survive do so.
- ``page``: writes tests/tables/mutants.md.
"""
