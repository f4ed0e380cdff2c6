"""Linear algebra by SciPy's names: factors used several times, matrix functions, special matrices.

Matrices may come in stacks: the axes before the last two are the batch's. As in
``tinyjax.numpy.linalg``, results are NaN where there are none. ``overwrite_a``, ``overwrite_b`` and
``check_finite`` are taken for the sake of programs that give them: arrays are immutable, and
nothing is checked.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "decompositions": "eig eigvals eigvalsh lstsq norm pinv svdvals",
        "factors": (
            "block_diag cho_factor cho_solve cholesky det eigh inv lu lu_factor lu_solve qr "
            "qr_multiply solve solve_triangular svd"
        ),
        "functions": (
            "circulant companion convolution_matrix dft eigh_tridiagonal expm expm_frechet fiedler "
            "fiedler_companion funm hadamard hankel helmert hessenberg hilbert invhilbert "
            "invpascal leslie logm null_space pascal polar rsf2csf schur solve_banded "
            "solve_continuous_lyapunov solve_sylvester sqrtm toeplitz"
        ),
    },
)
