# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax._extensions.rematerialization.planning import MemoryPlan as MemoryPlan
from tinyjax._extensions.rematerialization.transformation import memory_plan as memory_plan
from tinyjax._library.laplacians.functions import Laplacian as Laplacian
from tinyjax._library.laplacians.functions import directional_derivatives as directional_derivatives
from tinyjax._library.laplacians.functions import divergence as divergence
from tinyjax._library.laplacians.functions import laplacian as laplacian
from tinyjax._library.sparsity.colouring import Colouring as Colouring
from tinyjax._library.sparsity.colouring import coloured as coloured
from tinyjax._library.sparsity.detection import hessian_sparsity as hessian_sparsity
from tinyjax._library.sparsity.detection import jacobian_sparsity as jacobian_sparsity
from tinyjax._library.sparsity.pattern import SparsityPattern as SparsityPattern
from tinyjax.autodiff.accumulation import Order as Order
from tinyjax.autodiff.accumulation import hessian as hessian
from tinyjax.autodiff.accumulation import jacobian as jacobian
from tinyjax.autodiff.accumulation import multiplications as multiplications
from tinyjax.autodiff.products import gauss_newton_vp as gauss_newton_vp
from tinyjax.autodiff.products import hutchinson_trace as hutchinson_trace
from tinyjax.autodiff.products import hvp as hvp
from tinyjax.autodiff.products import jvp_from_vjp as jvp_from_vjp
from tinyjax.autodiff.products import vjp_from_jvp as vjp_from_jvp
from tinyjax.autodiff.taylor import jet as jet

__all__ = [
    'Colouring',
    'Laplacian',
    'MemoryPlan',
    'Order',
    'SparsityPattern',
    'coloured',
    'directional_derivatives',
    'divergence',
    'gauss_newton_vp',
    'hessian',
    'hessian_sparsity',
    'hutchinson_trace',
    'hvp',
    'jacobian',
    'jacobian_sparsity',
    'jet',
    'jvp_from_vjp',
    'laplacian',
    'memory_plan',
    'multiplications',
    'vjp_from_jvp',
]
