"""The documentation as a site: ``nox -s docs`` builds it.

``website.staging`` writes what Sphinx reads: the pages of ``docs/`` with the output of their code
(``website.blocks``), and a page of directives for each public module (``website.reference``).
"""
