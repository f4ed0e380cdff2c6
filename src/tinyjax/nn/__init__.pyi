# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.nn import initializers as initializers
from tinyjax.nn.attention import dot_product_attention as dot_product_attention
from tinyjax.nn.functions import celu as celu
from tinyjax.nn.functions import elu as elu
from tinyjax.nn.functions import gelu as gelu
from tinyjax.nn.functions import glu as glu
from tinyjax.nn.functions import hard_sigmoid as hard_sigmoid
from tinyjax.nn.functions import hard_silu as hard_silu
from tinyjax.nn.functions import hard_swish as hard_swish
from tinyjax.nn.functions import hard_tanh as hard_tanh
from tinyjax.nn.functions import identity as identity
from tinyjax.nn.functions import leaky_relu as leaky_relu
from tinyjax.nn.functions import log1mexp as log1mexp
from tinyjax.nn.functions import log_sigmoid as log_sigmoid
from tinyjax.nn.functions import log_softmax as log_softmax
from tinyjax.nn.functions import logmeanexp as logmeanexp
from tinyjax.nn.functions import mish as mish
from tinyjax.nn.functions import one_hot as one_hot
from tinyjax.nn.functions import relu as relu
from tinyjax.nn.functions import relu6 as relu6
from tinyjax.nn.functions import scaled_dot_general as scaled_dot_general
from tinyjax.nn.functions import scaled_matmul as scaled_matmul
from tinyjax.nn.functions import selu as selu
from tinyjax.nn.functions import sigmoid as sigmoid
from tinyjax.nn.functions import silu as silu
from tinyjax.nn.functions import soft_sign as soft_sign
from tinyjax.nn.functions import softmax as softmax
from tinyjax.nn.functions import softplus as softplus
from tinyjax.nn.functions import sparse_plus as sparse_plus
from tinyjax.nn.functions import sparse_sigmoid as sparse_sigmoid
from tinyjax.nn.functions import squareplus as squareplus
from tinyjax.nn.functions import standardize as standardize
from tinyjax.nn.functions import swish as swish
from tinyjax.numpy.elementwise import tanh as tanh
from tinyjax.scipy.special import logsumexp as logsumexp

__all__ = [
    'celu',
    'dot_product_attention',
    'elu',
    'gelu',
    'glu',
    'hard_sigmoid',
    'hard_silu',
    'hard_swish',
    'hard_tanh',
    'identity',
    'initializers',
    'leaky_relu',
    'log1mexp',
    'log_sigmoid',
    'log_softmax',
    'logmeanexp',
    'logsumexp',
    'mish',
    'one_hot',
    'relu',
    'relu6',
    'scaled_dot_general',
    'scaled_matmul',
    'selu',
    'sigmoid',
    'silu',
    'soft_sign',
    'softmax',
    'softplus',
    'sparse_plus',
    'sparse_sigmoid',
    'squareplus',
    'standardize',
    'swish',
    'tanh',
]
