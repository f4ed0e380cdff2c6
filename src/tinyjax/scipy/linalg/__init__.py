"""Linear algebra by SciPy's names: factors used several times, matrix functions, special matrices.

Matrices may come in stacks: the axes before the last two are the batch's. As in
``tinyjax.numpy.linalg``, results are NaN where there are none. ``overwrite_a``, ``overwrite_b`` and
``check_finite`` are taken for the sake of programs that give them: arrays are immutable, and
nothing is checked.
"""

from __future__ import annotations

from tinyjax.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "factors": (
            "block_diag cho_factor cho_solve cholesky det eigh inv lu lu_factor lu_solve qr "
            "qr_multiply solve solve_triangular svd"
        ),
        "functions": (
            "eigh_tridiagonal expm expm_frechet funm hessenberg polar rsf2csf schur "
            "solve_sylvester sqrtm"
        ),
        "special_matrices": (
            "circulant companion convolution_matrix dft fiedler fiedler_companion hadamard hankel "
            "helmert hilbert invhilbert invpascal leslie pascal toeplitz"
        ),
    },
)
