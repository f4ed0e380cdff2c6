"""Primitives of one's own as classes: an implementation, and a method for each transformation.

A subclass of ``VJPHiPrimitive`` has its implementation as a function of arrays (``expand``), and
rules for what is to be other than the transformations of that. Unlike a ``custom_vjp`` function it
may have rules for both modes, and stands in a program as one equation. Everything that it reads is
an argument or a parameter: it closes over no traced values.

Example:
    >>> import tinyjax, tinyjax.numpy as jnp
    >>> from tinyjax.experimental.hijax import VJPHiPrimitive
    >>> class Scaled(VJPHiPrimitive):
    ...     def __init__(self, x_aval, by):
    ...         self.in_avals, self.out_aval, self.params = (x_aval,), x_aval, {"by": by}
    ...         super().__init__()
    ...     def expand(self, x):
    ...         return x * self.by
    ...     def vjp_fwd(self, nzs_in, x):
    ...         return self(x), None
    ...     def vjp_bwd_retval(self, residuals, ct):
    ...         return (jnp.clip(ct, -1.0, 1.0) * self.by,)
    >>> f = lambda x: Scaled(tinyjax.typeof(x), 2.0)(x) ** 2
    >>> float(f(3.0)), float(tinyjax.grad(f)(3.0))
    (36.0, 2.0)
"""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "primitives": (
            "AxisData GradAccum NullAccum VJPHiPrimitive ValAccum jvp_from_lin "
            "linearize_from_jvp vjp_from_jvp vjp_from_lin"
        ),
        "tinyjax.core.values": "ShapedArray",
        "tinyjax.custom_derivatives.custom_calls": "Zero instantiate_zeros",
    },
)
