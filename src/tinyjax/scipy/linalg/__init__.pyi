# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.linalg.decompositions import eig as eig
from tinyjax.scipy.linalg.decompositions import eigvals as eigvals
from tinyjax.scipy.linalg.decompositions import eigvalsh as eigvalsh
from tinyjax.scipy.linalg.decompositions import lstsq as lstsq
from tinyjax.scipy.linalg.decompositions import norm as norm
from tinyjax.scipy.linalg.decompositions import pinv as pinv
from tinyjax.scipy.linalg.decompositions import svdvals as svdvals
from tinyjax.scipy.linalg.factors import block_diag as block_diag
from tinyjax.scipy.linalg.factors import cho_factor as cho_factor
from tinyjax.scipy.linalg.factors import cho_solve as cho_solve
from tinyjax.scipy.linalg.factors import cholesky as cholesky
from tinyjax.scipy.linalg.factors import det as det
from tinyjax.scipy.linalg.factors import eigh as eigh
from tinyjax.scipy.linalg.factors import inv as inv
from tinyjax.scipy.linalg.factors import lu as lu
from tinyjax.scipy.linalg.factors import lu_factor as lu_factor
from tinyjax.scipy.linalg.factors import lu_solve as lu_solve
from tinyjax.scipy.linalg.factors import qr as qr
from tinyjax.scipy.linalg.factors import qr_multiply as qr_multiply
from tinyjax.scipy.linalg.factors import solve as solve
from tinyjax.scipy.linalg.factors import solve_triangular as solve_triangular
from tinyjax.scipy.linalg.factors import svd as svd
from tinyjax.scipy.linalg.functions import circulant as circulant
from tinyjax.scipy.linalg.functions import companion as companion
from tinyjax.scipy.linalg.functions import convolution_matrix as convolution_matrix
from tinyjax.scipy.linalg.functions import dft as dft
from tinyjax.scipy.linalg.functions import eigh_tridiagonal as eigh_tridiagonal
from tinyjax.scipy.linalg.functions import expm as expm
from tinyjax.scipy.linalg.functions import expm_frechet as expm_frechet
from tinyjax.scipy.linalg.functions import fiedler as fiedler
from tinyjax.scipy.linalg.functions import fiedler_companion as fiedler_companion
from tinyjax.scipy.linalg.functions import funm as funm
from tinyjax.scipy.linalg.functions import hadamard as hadamard
from tinyjax.scipy.linalg.functions import hankel as hankel
from tinyjax.scipy.linalg.functions import helmert as helmert
from tinyjax.scipy.linalg.functions import hessenberg as hessenberg
from tinyjax.scipy.linalg.functions import hilbert as hilbert
from tinyjax.scipy.linalg.functions import invhilbert as invhilbert
from tinyjax.scipy.linalg.functions import invpascal as invpascal
from tinyjax.scipy.linalg.functions import leslie as leslie
from tinyjax.scipy.linalg.functions import logm as logm
from tinyjax.scipy.linalg.functions import null_space as null_space
from tinyjax.scipy.linalg.functions import pascal as pascal
from tinyjax.scipy.linalg.functions import polar as polar
from tinyjax.scipy.linalg.functions import rsf2csf as rsf2csf
from tinyjax.scipy.linalg.functions import schur as schur
from tinyjax.scipy.linalg.functions import solve_banded as solve_banded
from tinyjax.scipy.linalg.functions import solve_continuous_lyapunov as solve_continuous_lyapunov
from tinyjax.scipy.linalg.functions import solve_sylvester as solve_sylvester
from tinyjax.scipy.linalg.functions import sqrtm as sqrtm
from tinyjax.scipy.linalg.functions import toeplitz as toeplitz

__all__ = [
    'block_diag',
    'cho_factor',
    'cho_solve',
    'cholesky',
    'circulant',
    'companion',
    'convolution_matrix',
    'det',
    'dft',
    'eig',
    'eigh',
    'eigh_tridiagonal',
    'eigvals',
    'eigvalsh',
    'expm',
    'expm_frechet',
    'fiedler',
    'fiedler_companion',
    'funm',
    'hadamard',
    'hankel',
    'helmert',
    'hessenberg',
    'hilbert',
    'inv',
    'invhilbert',
    'invpascal',
    'leslie',
    'logm',
    'lstsq',
    'lu',
    'lu_factor',
    'lu_solve',
    'norm',
    'null_space',
    'pascal',
    'pinv',
    'polar',
    'qr',
    'qr_multiply',
    'rsf2csf',
    'schur',
    'solve',
    'solve_banded',
    'solve_continuous_lyapunov',
    'solve_sylvester',
    'solve_triangular',
    'sqrtm',
    'svd',
    'svdvals',
    'toeplitz',
]
