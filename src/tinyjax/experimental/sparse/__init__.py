"""Sparse arrays: ``BCOO``, by coordinates, and ``BCSR``, by rows.

They are trees of dense arrays, so that they go through ``jit``, ``vmap`` (over the data) and
derivatives. They have methods and operators, functions by JAX's names (``bcoo_dot_general`` and
kin), and ``sparsify`` makes functions of dense arrays take them. The last axes of a ``BCOO`` may be
dense; axes of a batch most functions take by ``vmap``.
"""

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "base": "JAXSparse",
        "bcoo": "BCOO",
        "bcsr": "BCSR",
        "operations": (
            "bcoo_broadcast_in_dim bcoo_concatenate bcoo_dot_general bcoo_dot_general_sampled "
            "bcoo_dynamic_slice bcoo_extract bcoo_fromdense bcoo_multiply_dense "
            "bcoo_multiply_sparse bcoo_reduce_sum bcoo_reshape bcoo_rev bcoo_slice "
            "bcoo_sort_indices bcoo_squeeze bcoo_sum_duplicates bcoo_todense bcoo_transpose "
            "bcoo_update_layout random_bcoo"
        ),
        "rules": "empty eye grad sparsify todense value_and_grad",
    },
)
