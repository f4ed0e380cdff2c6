"""Make ``import jax``, and everything beneath it, mean tinyjax in this process.

Import this module before anything imports jax::

    import tinyjax.as_jax
    import optax  # runs on tinyjax

It says so: ``jax.__version__`` is the version of JAX whose interface is followed, with tinyjax's as
its local part, and what is missing is an error that names tinyjax. ``docs/libraries.md`` lists the
libraries that have been tried, and what of them works.

Raises:
    ImportError: jax itself has been imported before.
"""

from __future__ import annotations

from tinyjax._jax.modules import install

install()
