"""``import tinyjax.as_jax``: which modules there are then, and what the errors say.

All of it happens in other processes, since here ``jax`` is JAX. What libraries make of it
is tested in tests/libraries, which needs them.
"""

import re
import subprocess
import sys

import pytest

from tools.jax_api import entries

#: Code to run after ``import tinyjax.as_jax``, and what it prints; of an error, its type and part
#: of its message.
CASES = [
    ("import jax; print(jax.__version__.partition('+')[2].startswith('tinyjax'))", "True"),
    ("import jax; print(jax.__version_info__, jax.version.__version__ == jax.__version__)", "True"),
    ("import jax.numpy as jnp, tinyjax; print(jnp.sin is tinyjax.numpy.sin)", "True"),
    ("import jax; print(jax.numpy.linalg.norm(jax.numpy.ones(4)))", "2"),
    ("import jax; print(jax.jacobian is jax.jacrev)", "True"),
    (
        (
            "from jax._src.tree_util import broadcast_prefix, prefix_errors;"
            "print(prefix_errors((1, 2), (1, [2, 3])), broadcast_prefix((1, 2), (1, [2, 3])));"
            "raise prefix_errors((1, (2, 3)), (1, (2, 3, 4)))[0]('in_axes')"
        ),
        r"\[\] \[1, 2, 2\][^$]*ValueError[^$]*in_axes\[1\]",
    ),
    ("from jax import *; print(jit(lambda x: numpy.sin(x) + lax.cos(x))(0.0))", "1"),
    ("from jax.numpy import *; print(cos(0.0))", "1"),
    (
        (
            "import jax, jax.numpy as jnp; from jax.experimental import sparse\n"
            "jax.config.update('jax_enable_x64', True); x = jnp.arange(3.)\n"
            "m = sparse.random_bcoo(jax.random.key(0), (3, 4), nse=2)\n"
            "found = [jnp.tri(3), "
            "jnp.searchsorted(x, 1.), jnp.digitize(x, x), jnp.argpartition(x, 1)]\n"
            "print(*[y.dtype for y in (x, *found, m.data, m.indices)], m.data)\n"
            "jax.config.update('jax_enable_x64', False)"
        ),
        r"float64 float32 int32 int32 int32 float64 int64 \[0.969948\d* +0.31518186",
    ),
    (
        "import jax.lib, jaxlib; print(jax.lib.__version__ == jaxlib.__version__)",
        "True",
    ),
    (
        (
            "import jax, jax.extend.core as core\n"
            "class Own(core.Primitive): pass\n"
            "eqns = jax.make_jaxpr(lambda x: jax.numpy.sin(x) + 1)(1.0).eqns\n"
            "print([isinstance(eqn.primitive, core.Primitive) for eqn in eqns],"
            "isinstance(eqns[0].primitive, Own), isinstance(Own('own'), Own), isinstance(1, Own))"
        ),
        r"\[True, True\] False True False",
    ),
    (  # whether a number made inside is traced tells array_api_extra whether it is
        (
            "import jax, jax.numpy as jnp; from jax.extend.core import "
            "unsafe_am_i_under_a_jit_DO_NOT_USE as under_jit\n"
            "def asks(x):\n"
            "    for make in (jnp.asarray, jnp.array):\n"
            "        try: found.append(not make(False))\n"
            "        except jax.errors.TracerBoolConversionError: found.append('traced')\n"
            "    found.append(under_jit())\n"
            "    return x * jnp.asarray(2.0)\n"
            "found = []; asks(1.0); jax.grad(asks)(1.0); print(found)\n"
            "found = []; print(jax.jit(asks)(1.0), jax.jit(jax.grad(asks))(1.0), found)\n"
            "x = jnp.ones(()); print(jax.jit(lambda y: y if jnp.asarray(x) else 0)(1.0))"
        ),
        (
            r"\[True, True, False, True, True, False\]\n"
            r"2.0 2.0 \['traced', 'traced', True, 'traced', 'traced', True\]\n1.0"
        ),
    ),
    (
        (
            "import jax, pickle, numpy as np, jax.numpy as jnp\n"
            "key = jax.random.key(0); dtype = key.dtype; struct = jax.eval_shape(lambda: key)\n"
            "same = jax.jit(lambda x: print(x.dtype) or x)\n"
            "print(dtype.name, dtype, struct.dtype, same(key).dtype)\n"
            "other = jax.random.key(0, impl='rbg').dtype\n"
            "print(dtype == jax.random.split(key).dtype, dtype == other,"
            "jnp.issubdtype(dtype, jax.dtypes.prng_key), "
            "pickle.loads(pickle.dumps(dtype)) == dtype,"
            "jnp.empty(2, dtype).dtype, jax.random.key(1, impl=dtype).dtype,"
            "np.dtype(dtype) == dtype,"
            "isinstance(dtype, jax._src.dtypes.ExtendedDType))"
        ),
        r"key<fry>\n(key<fry> ?){4}\nTrue False True True key<fry> key<fry> True True",
    ),
    (
        (
            "import jax, jax.numpy as jnp; from jax.sharding import PartitionSpec as P\n"
            "mesh = jax.make_mesh((1,), ('m',))\n"
            "for spec in (P(), P(None), P(None, None), P('m'), P('m', None)):\n"
            "    options = {'in_specs': P('m'), 'out_specs': spec, 'check_vma': False}\n"
            "    found = jax.shard_map(abs, mesh=mesh, **options)(jnp.ones((4, 3)))\n"
            "    print(found.sharding.spec == spec)"
        ),
        r"^\s*(True\s*){5}$",
    ),
    (
        (
            "import jax, warnings, numpy as np, jax.numpy as jnp\n"
            "x, some = jnp.arange(3), np.array([0.5, 1.5, 2.5], np.float32)\n"
            "with warnings.catch_warnings(record=True) as said:\n"
            "    warnings.simplefilter('always')\n"
            "    print(x.at[:].set(some), x.at[0].set(7.9), x.at[:].add(some),"
            "x.at[:].multiply(2.5),"
            "jax.jit(lambda x, y: x.at[jnp.array([0, 0, 1])].add(y))(x, some))\n"
            "print([x.category.__name__ for x in said])"
        ),
        r"\[0 1 2\] \[7 1 2\] \[0 2 4\] \[0 2 5\] \[2 3 2\]\n\[('FutureWarning'(, )?){5}\]",
    ),
    (  # by which Haiku and Flax see that a function with side effects is transformed
        (
            "import jax; from jax.extend.core import get_opaque_trace_state as state\n"
            "outside = state()\n"
            "def look(x): found.append(state(convention='') == outside); return x\n"
            "found = []; look(1.0); jax.lax.cond(True, look, look, 1.0)\n"
            "jax.lax.switch(1, [look, look], 1.0); jax.jit(look)(1.0); look(1.0); print(found)"
        ),
        r"\[True, False, (False, )+True\]",
    ),
    (  # by which numpyro sees that values are known
        (
            "import jax, numpy as np, jax.numpy as jnp; x = np.ones((2, 3))\n"
            "look = lambda: [type(jnp.reshape(y, (3, 2))).__name__ for y in (x, jnp.ones(6))]\n"
            "print(look(), jax.jit(lambda: print(look()))())"
        ),
        r"'ndarray', 'StagingTracer'\]\n\['ndarray', 'ConcreteArray'\]",
    ),
    (
        (
            "import jax, jax.numpy as jnp\n"
            "class Step:\n"
            "    def __init__(self, rate): self.rate, self.traced = rate, []\n"
            "    def __call__(self, c, x): self.traced.append(1); return c + self.rate * x, x\n"
            "step = Step(2.0)\n"
            "run = lambda: jax.lax.scan(step, 0.0, jnp.ones(2))[0]\n"
            "print(run(), run(), len(step.traced)); step.rate = 3.0; print(run(), len(step.traced))"
        ),
        r"4.0 4.0 1\n6.0 2",
    ),
    ("import jax; print('numpy' in dir(jax), 'sin' in dir(jax.numpy))", "True True"),
    ("from jax import lax; print(lax.switch(1, [abs, lambda x: 2 * x], operand=3.0))", "6"),
    ("import jax; print(isinstance(1, jax.sharding.Mesh))", "False"),
    ("import jax; print(isinstance(1, jax.sharding.AbstractMesh))", "False"),
    (
        (
            "import jax; from jax.sharding import get_abstract_mesh as get\nprint(get().empty)\n"
            "with jax.set_mesh(jax.make_mesh((1,), ('x',))): print(get())"
        ),
        r"True\nAbstractMesh\('x': 1",
    ),
    (
        (
            "import jax; from jax._src.state.types import AbstractRef\n"
            "print(isinstance(jax.typeof(jax.new_ref(jax.numpy.ones(2))), AbstractRef))"
        ),
        "True",
    ),
    ("import importlib.util as u; print(u.find_spec('jax.numpy').name)", "jax.numpy"),
    ("import tinyjax.as_jax, jax; print(jax.grad(lambda x: x * x)(3.0))", "6"),
    ("import jax.config", "ModuleNotFoundError.*tinyjax.*docs/libraries.md"),
    ("from jax.numpy import sine", "neither a name nor a module 'sine'.*Did you mean 'sin'"),
    ("import jax.experimental.nothing", "ModuleNotFoundError.*tinyjax.*docs/libraries.md"),
    ("from jax.experimental import nothing", "ImportError.*tinyjax"),
    (
        "from jax.experimental import pallas as pl; pl.pallas_call(abs)",
        "NotImplementedError.*pallas_call is not in tinyjax",
    ),
    ("import jax; jax.pmap_no", "AttributeError.*tinyjax.*docs/jax_api.md"),
    ("import jax.numpy as jnp; jnp.nothing", "AttributeError.*jax.numpy.*tinyjax"),
    (
        (
            "import jax; from jax.experimental.layout import Format, Layout; x = jax.numpy.ones(2);"
            "f = Format(Layout((0,)), x.sharding);"
            "print(jax.device_put(x, f), jax.lax.with_sharding_constraint(x, f))"
        ),
        r"\[1. 1.\] \[1. 1.\]",
    ),
    (
        (
            "import jax; from jax.extend.backend import backends, get_backend, get_default_device;"
            "device = get_default_device(); print(device.client is get_backend(), [*backends()],"
            "get_backend('cpu').platform, device.memory_stats(), device.default_memory().kind)"
        ),
        r"True \['cpu'\] cpu None device",
    ),
    (
        (
            "import jax; jax.extend.core.concrete_or_error(None, 1); jax.jit("
            "lambda x: jax.extend.core.concrete_or_error(int, x, 'the size'))(1)"
        ),
        "ConcretizationError.*the size needs the data",
    ),
    (
        (
            "import jax; print(jax.grad(lambda x:"
            "jax.extend.core.concrete_or_error(float, x.astype(int)) * x)(3.0))"
        ),
        "3",
    ),
    ("import jax; print([int(part) for part in jax.__version__.split('.')])", r"\[0, 10, 2\]"),
    (
        (
            "import jax; x = jax.numpy.ones(2); print({type(x).__module__ for x in (x, 1 * x)});"
            "jax.jit(lambda x: print(type(x).__module__))(x); import pickle;"
            "print(pickle.loads(pickle.dumps(x)))"
        ),
        r"{'jax'}\njax\n\[1. 1.\]",
    ),
    (
        (
            "import jax; import numpy as np\nclass Boxed:\n"
            "    def __array__(self, dtype=None, copy=None): return np.ones(2)\n"
            "table = jax.core.pytype_aval_mappings; table[Boxed] = table[np.ndarray];"
            "print(jax.jit(lambda x: x + 1)(Boxed()), jax.numpy.sin(Boxed()).dtype,"
            "table is jax.interpreters.xla.canonicalize_dtype_handlers)"
        ),
        r"\[2. 2.\] float32 True",
    ),
    (
        (
            "import jax, jax.numpy as jnp; print(jnp.shape(None), jnp.ndim([[1]]), jnp.size(None),"
            "jnp.size([[1, 2]], 1), jnp.shape(1.0), jnp.shape([(1, 2)]));"
            "print(jax.eval_shape(lambda x: jnp.zeros(jnp.shape([x, x])), 1.0).shape)"
        ),
        r"\(\) 2 1 2 \(\) \(1, 2\)\n\(2,\)",
    ),
    (
        (
            "import jax; from jax.experimental.sparse import BCOO, sparsify;"
            "x = BCOO.fromdense(jax.numpy.eye(2));"
            "print(sparsify(jax.numpy.add)(1, 2), sparsify(abs)(x)); sparsify(jax.numpy.cos)(x)"
        ),
        r"3 BCOO\(float32\[2, 2\], nse=2\)\n[^$]*NotImplementedError.*cos.*todense",
    ),
    (
        (
            "import jax; from jax.experimental.layout import Format, Layout; x = jax.numpy.eye(2);"
            "print(x.format.layout.major_to_minor, x.format == Format(Layout((0, 1)), x.sharding),"
            "jax.device_put(x, x.format).format == x.format)"
        ),
        r"\(0, 1\) True True",
    ),
    (
        (
            "import jax; from jax.experimental.compute_on import compute_on;"
            "from jax.experimental.shard_alike import shard_alike;"
            "from jax.experimental.xla_metadata import set_xla_metadata\n"
            "from jax.experimental.custom_partitioning import custom_partitioning\n"
            "@custom_partitioning\ndef twice(x): return 2 * x\n"
            "twice.def_partition(None, sharding_rule='i -> i')\n"
            "with compute_on('device_host'), set_xla_metadata(a='b'):\n"
            "    x = jax.jit(jax.grad(twice))(1.0)\n"
            "print(set_xla_metadata(x, a='b'), *shard_alike(x, 3.0)); shard_alike(x, [x])"
        ),
        "2.0 2.0 3.0\n[^$]*Error.*shard_alike",
    ),
    (
        (
            "import jax; from jax._src.typing import Array\n"
            "from jax._src.numpy.ufuncs import ufunc\n"
            "from jax.experimental.sparse import COO, CSC, CSR\n"
            "print(Array is jax.Array, ufunc is jax.numpy.ufunc, isinstance(1, CSR)); COO(1)"
        ),
        "True True False\n[^$]*Error.*sparse matrices are BCOO",
    ),
    (
        "from jax.experimental.compute_on import compute_on\nwith compute_on('x'): 1",
        "'device_host'",
    ),
    (
        (
            "from jax._src.interpreters.batching import is_vmappable; import jax;"
            "print([is_vmappable(x) for x in (1, 2.0, jax.numpy.ones(2), 'a', [1], None)])"
        ),
        r"\[True, True, True, False, False, False\]",
    ),
    (
        "import jax; print(jax.interpreters.xla.apply_primitive(jax.lax.sin_p, 0.0))",
        "0",
    ),
]

RUN = """
try:
    exec({code!r})
except Exception as error:
    print([kind.__name__ for kind in type(error).__mro__], error)
"""


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def outputs() -> list[str]:
    """Return the output of each case; one process runs them all, since they do not change it."""
    parts = [f"print('---'){RUN.format(code=code)}" for code, _ in CASES]
    return printed("import tinyjax.as_jax\n" + "".join(parts)).split("---")[1:]


@pytest.mark.parametrize("case", range(len(CASES)), ids=[code for code, _ in CASES])
def test_what_jax_means(case: int, outputs: list[str]) -> None:
    assert re.search(CASES[case][1], outputs[case]), outputs[case]


def test_it_comes_too_late_after_jax() -> None:
    code = "import jax" + RUN.format(code="import tinyjax.as_jax")
    assert "ImportError" in (said := printed(code))
    assert "imported after jax" in said


def test_every_module_and_name_of_the_tables_is_there() -> None:
    code = """
import tinyjax.as_jax
from importlib import import_module
from tinyjax._jax.modules import MODULES, NAMES, PLACEHOLDERS
for module in {*MODULES, *NAMES}:
    found = import_module(module)
    for name in {*found.__all__, *PLACEHOLDERS.get(module, ())}:
        getattr(found, name)
print("all")
"""
    assert printed(code) == "all\n"


def test_every_name_of_jax_that_there_is_can_be_had_as_jax() -> None:
    names = [(f"jax.{row.module}".rstrip("."), row.name) for row in entries() if row.is_there]
    assert len(names) > 1000
    code = f"""
import tinyjax.as_jax
from importlib import import_module
for module, name in {names}:
    if not hasattr(import_module(module), name):
        print(module, name)
"""
    assert printed(code) == ""
