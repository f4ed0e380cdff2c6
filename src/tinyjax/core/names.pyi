# Written by `python -m exports` in tests/, from the table of the module beside it.

from tinyjax.core import api as api
from tinyjax.core import devices as dev
from tinyjax.core import discovery as discovery
from tinyjax.core import jit as jt
from tinyjax.core import lowering as low
from tinyjax.core import xla as xla
from tinyjax.core.api import arguments as arguments
from tinyjax.core.api import derivatives as derivatives
from tinyjax.core.api import jacobians as jacobians
from tinyjax.core.api import mapping as mapping
from tinyjax.core.api import typed as typed
from tinyjax.core.control_flow import common as cf
from tinyjax.core.control_flow import primitives as cfp
from tinyjax.core.control_flow import cond as cond
from tinyjax.core.control_flow import loops as loops
from tinyjax.core.control_flow import scan as sc
from tinyjax.core.control_flow import while_loop as wl
from tinyjax.core.jit import program as program
from tinyjax.core.jit import signatures as sig
from tinyjax.core.jit import stages as stages
from tinyjax.core.primitives import broadcast as bc
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives import families as fam
from tinyjax.core.primitives import identities as idn
from tinyjax.core.primitives import reduce as rd
from tinyjax.core.primitives import rules as ru
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives import slicing as sl
from tinyjax.core.stablehlo import Lowering as Lowering
from tinyjax.core.stablehlo import Value as Value
from tinyjax.core.stablehlo import Values as Values
from tinyjax.core.stablehlo import builder as builder
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo import lowering as lw
from tinyjax.core.tracing import Primitive as Primitive
from tinyjax.core.tracing import Tracer as Tracer
from tinyjax.core.tracing import bind as bind
from tinyjax.core.tracing import bind1 as bind1
from tinyjax.core.tracing import checking as ck
from tinyjax.core.tracing import calling as cl
from tinyjax.core.tracing import encoding as encoding
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.tracing import program_rules as pr
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing import staging as stg
from tinyjax.core.tracing import trace as tr
from tinyjax.core.transforms import batching as bt
from tinyjax.core.transforms import jvp as jv
from tinyjax.core.transforms import linearize as lz
from tinyjax.core.transforms import transpose as tp
from tinyjax.core.values import Array as Array
from tinyjax.core.values import ArrayLike as ArrayLike
from tinyjax.core.values import ConcreteArray as ConcreteArray
from tinyjax.core.values import ShapedArray as ShapedArray
from tinyjax.core.values import array as arr
from tinyjax.core.values import avals as av
from tinyjax.core.values import concrete as conc
from tinyjax.core.values import integers as ints
from tinyjax.core.values import operands as opd

__all__ = [
    'Array',
    'ArrayLike',
    'ConcreteArray',
    'Lowering',
    'Primitive',
    'ShapedArray',
    'Tracer',
    'Value',
    'Values',
    'api',
    'arguments',
    'arr',
    'av',
    'bc',
    'bind',
    'bind1',
    'bt',
    'builder',
    'cf',
    'cfp',
    'ck',
    'cl',
    'conc',
    'cond',
    'derivatives',
    'dev',
    'discovery',
    'encoding',
    'ew',
    'fam',
    'hlo',
    'idn',
    'ints',
    'jacobians',
    'jt',
    'jv',
    'jx',
    'loops',
    'low',
    'lw',
    'lz',
    'mapping',
    'opd',
    'pr',
    'prim',
    'program',
    'rd',
    'ru',
    'sc',
    'sh',
    'sig',
    'sl',
    'stages',
    'stg',
    'tp',
    'tr',
    'typed',
    'wl',
    'xla',
]
