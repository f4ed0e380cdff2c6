# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.experimental.sparse.base import JAXSparse as JAXSparse
from tinyjax.experimental.sparse.bcoo import BCOO as BCOO
from tinyjax.experimental.sparse.bcsr import BCSR as BCSR
from tinyjax.experimental.sparse.operations import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from tinyjax.experimental.sparse.operations import bcoo_concatenate as bcoo_concatenate
from tinyjax.experimental.sparse.operations import bcoo_dot_general as bcoo_dot_general
from tinyjax.experimental.sparse.operations import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from tinyjax.experimental.sparse.operations import bcoo_dynamic_slice as bcoo_dynamic_slice
from tinyjax.experimental.sparse.operations import bcoo_extract as bcoo_extract
from tinyjax.experimental.sparse.operations import bcoo_fromdense as bcoo_fromdense
from tinyjax.experimental.sparse.operations import bcoo_multiply_dense as bcoo_multiply_dense
from tinyjax.experimental.sparse.operations import bcoo_multiply_sparse as bcoo_multiply_sparse
from tinyjax.experimental.sparse.operations import bcoo_reduce_sum as bcoo_reduce_sum
from tinyjax.experimental.sparse.operations import bcoo_reshape as bcoo_reshape
from tinyjax.experimental.sparse.operations import bcoo_rev as bcoo_rev
from tinyjax.experimental.sparse.operations import bcoo_slice as bcoo_slice
from tinyjax.experimental.sparse.operations import bcoo_sort_indices as bcoo_sort_indices
from tinyjax.experimental.sparse.operations import bcoo_squeeze as bcoo_squeeze
from tinyjax.experimental.sparse.operations import bcoo_sum_duplicates as bcoo_sum_duplicates
from tinyjax.experimental.sparse.operations import bcoo_todense as bcoo_todense
from tinyjax.experimental.sparse.operations import bcoo_transpose as bcoo_transpose
from tinyjax.experimental.sparse.operations import bcoo_update_layout as bcoo_update_layout
from tinyjax.experimental.sparse.operations import random_bcoo as random_bcoo
from tinyjax.experimental.sparse.rules import empty as empty
from tinyjax.experimental.sparse.rules import eye as eye
from tinyjax.experimental.sparse.rules import grad as grad
from tinyjax.experimental.sparse.rules import sparsify as sparsify
from tinyjax.experimental.sparse.rules import todense as todense
from tinyjax.experimental.sparse.rules import value_and_grad as value_and_grad

__all__ = [
    'BCOO',
    'BCSR',
    'JAXSparse',
    'bcoo_broadcast_in_dim',
    'bcoo_concatenate',
    'bcoo_dot_general',
    'bcoo_dot_general_sampled',
    'bcoo_dynamic_slice',
    'bcoo_extract',
    'bcoo_fromdense',
    'bcoo_multiply_dense',
    'bcoo_multiply_sparse',
    'bcoo_reduce_sum',
    'bcoo_reshape',
    'bcoo_rev',
    'bcoo_slice',
    'bcoo_sort_indices',
    'bcoo_squeeze',
    'bcoo_sum_duplicates',
    'bcoo_todense',
    'bcoo_transpose',
    'bcoo_update_layout',
    'empty',
    'eye',
    'grad',
    'random_bcoo',
    'sparsify',
    'todense',
    'value_and_grad',
]
