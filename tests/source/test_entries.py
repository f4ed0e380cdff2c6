"""Programs in every entry of tinyjax: each is right, or refused.

They hold arrays outside of a call, in all ways that Python has, and write there; or they write by
``out`` of any function and method; or mislead otherwise.
"""

import ast
import textwrap
from pathlib import Path
from typing import Final

import entries
import misleading
import pytest
from capturing.misleading import IMPORTS, PROGRAMS, Misleading

pytestmark = [
    pytest.mark.usefixtures("double_precision"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


def sections(text: str) -> dict[str, str]:
    """Return the parts of a text by their heads, which follow ``##``."""
    parts = (part.partition("\n") for part in text.split("\n## ")[1:])
    return {head: body for head, _, body in parts}


#: Programs that depend on errors which compiled programs do not raise, or on another Python; whose
#: slopes are infinite, so that those of a mask are NaN, as jax has them; or that make an object
#: once for all calls.
OTHERS: Final = """
fsolve infinite_data infinite_slopes_left_out_by_a_mask more_functions_of_math
"""


def check(text: str, folder: Path) -> None:
    entries.check(f"{IMPORTS}\n\n{text}", folder)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", [*PROGRAMS, *misleading.PROGRAMS], ids=str)
def test_misleading_programs(program: Misleading, tmp_path: Path) -> None:
    if not (program.is_made or program.is_eager or program.name in OTHERS.split()):
        check(program.text, tmp_path)


#: What holds an array outside of a call: a name, a statement before, and the array.
OWNERS: Final = sections(r"""
## dictget | pass | D.get('t')
D = {'t': np.ones(4)}

## dictget2 | pass | D.get('u', D['t'])
D = {'t': np.ones(4)}

## setdefault | pass | D.setdefault('t', 1)
D = {'t': np.ones(4)}

## values | pass | list(D.values())[0]
D = {'t': np.ones(4)}

## listget | pass | L.__getitem__(0)
L = [np.ones(4)]

## listcopy | pass | L.copy()[0]
L = [np.ones(4)]

## proxyget | pass | D.get('a')
D = types.MappingProxyType({'a': np.ones(4)})

## weak | pass | R().t
class W:
    pass
O = W()
O.t = np.ones(4)
R = weakref.ref(O)

## weakarr | pass | R()
T = np.ones(4)
R = weakref.ref(T)

## repeat | pass | next(R)
R = itertools.repeat(np.ones(4))

## cycle | pass | next(R)
R = itertools.cycle([np.ones(4)])

## itemgetter | pass | G(L)
L = [np.ones(4)]
G = operator.itemgetter(0)

## attrgetter | pass | G(A)
class A:
    t = np.ones(4)
G = operator.attrgetter('t')

## methodcaller | pass | G(D)
D = {'t': np.ones(4)}
G = operator.methodcaller('get', 't')

## local | pass | LOC.t
LOC = threading.local()
LOC.t = np.ones(4)

## simplens | pass | vars(N)['t']
N = types.SimpleNamespace(t=np.ones(4))

## ndview | pass | T.__getitem__(0)
T = np.ones((2, 4))

## asarr | pass | np.asarray(T)
T = np.ones(4)

## memview | pass | np.asarray(M)
T = np.ones(4)
M = memoryview(T)

## frombuf | pass | np.frombuffer(B)
B = bytearray(np.ones(4).tobytes())

## base | pass | B.table
class A:
    table = np.ones(4)
class B(A):
    pass

## ravelled | pass | T.ravel()
T = np.ones((2, 2))

## split | pass | np.split(T, 2)[0]
T = np.ones(8)

## genr | pass | next(R)
def gen():
    t = np.ones(4)
    while True:
        yield t
R = gen()

## cachedprop | pass | O.t
class A:
    @functools.cached_property
    def t(self):
        return np.ones(4)
O = A()

## slots | pass | O.t
class A:
    __slots__ = ('t',)
O = A()
O.t = np.ones(4)

## inclosure | pass | g()
def make(t):
    return lambda: t
g = make(np.ones(4))

## partialfn | pass | g()
g = functools.partial(lambda t: t, np.ones(4))

## methodof | pass | get()
class A:
    def __init__(self):
        self.t = np.ones(4)
    def get(self):
        return self.t
get = A().get

## mapped | pass | list(map(lambda t: t, [T]))[0]
T = np.ones(4)

## cls | pass | A.table
class A:
    table = np.ones(4)
    n = 2.0

## nested | pass | A.B.table
class A:
    class B:
        table = np.ones(4)

## inst | a = A() | a.table
class A:
    table = np.ones(4)

## fn | pass | g.table
def g(x):
    return x
g.table = np.ones(4)

## lam | pass | g.table
g = lambda x: x
g.table = np.ones(4)

## ns | pass | N.table
N = types.SimpleNamespace(table=np.ones(4))

## mod | pass | M.table
M = types.ModuleType('m')
M.table = np.ones(4)

## dict | pass | D['t']
D = {'t': np.ones(4)}

## list | pass | L[0]
L = [np.ones(4)]

## tuple | pass | L[0]
L = (np.ones(4), 1)

## nt | pass | P.a
P = collections.namedtuple('P', 'a')(np.ones(4))

## dc | pass | Q.a
@dataclasses.dataclass
class P:
    a: object
Q = P(np.ones(4))

## enum | pass | E.A.value[0]
class E(enum.Enum):
    A = (np.ones(4),)

## global | pass | T
T = np.ones(4)

## default | pass | g()
def g(b=np.ones(4)):
    return b

## kwdefault | pass | g()
def g(*, b=np.ones(4)):
    return b

## defaults | pass | g.__defaults__[0]
def g(b=np.ones(4)):
    return b

## static | pass | A.g()
class A:
    T = np.ones(4)
    @staticmethod
    def g():
        return A.T

## clsm | pass | A.g()
class A:
    T = np.ones(4)
    @classmethod
    def g(cls):
        return cls.T

## prop | pass | A().g
class A:
    T = np.ones(4)
    @property
    def g(self):
        return self.T

## partial | pass | G.args[0]
G = functools.partial(np.asarray, np.ones(4))

## lru | pass | g()
@functools.lru_cache
def g():
    return np.ones(4)

## closure | pass | g()
def make():
    t = np.ones(4)
    def g():
        return t
    return g
g = make()

## cell | pass | g.__closure__[0].cell_contents
def make():
    t = np.ones(4)
    def g():
        return t
    return g
g = make()

## getattr | pass | getattr(A, 'table')
class A:
    table = np.ones(4)

## vars | pass | vars(A)['table']
class A:
    table = np.ones(4)

## dictof | pass | A.__dict__['table']
class A:
    table = np.ones(4)

## globals | pass | globals()['T']
T = np.ones(4)

## deque | pass | D[0]
D = collections.deque([np.ones(4)])

## chain | pass | D['a']
D = types.MappingProxyType({'a': np.ones(4)})

## object | pass | O[0]
O = np.empty(1, object)
O[0] = np.ones(4)

## view | pass | T[0]
T = np.ones((2, 4))

## flatcls | pass | A.table.reshape(-1)
class A:
    table = np.ones((2, 2))

## meta | pass | A.t
class M(type):
    @property
    def t(cls):
        return cls._t
class A(metaclass=M):
    _t = np.ones(4)

## ctx | pass | V.get()
import contextvars
V = contextvars.ContextVar('v', default=np.ones(4))

## getter | pass | O[0]
class G:
    def __getitem__(self, i):
        return self.__dict__.setdefault('t', np.ones(4))
O = G()

## callable | pass | O()
class G:
    t = np.ones(4)
    def __call__(self):
        return self.t
O = G()
""")
#: What writes to the array.
BODIES: Final = sections(r"""
## write
{array}[:] = x * 2
return {array} @ x

## item
{array}[:] = 1.0
{array}[0] = x[1]
return np.sum({array} * x)

## aug
{array}[:] = 0.5
t = {array}
t += x
return np.sum({array} * x)

## augi
{array}[:] = 0.5
{array}[1:] *= x[0]
return np.sum({array} * x) + {array}[2]

## out
np.multiply(x, x, out={array})
return np.sum({array} * x)

## named
t = {array}
t[:] = x
u = {array}
return np.sum(u * x)

## other
put({array}, x)
return take() @ x

## method
{array}.fill(0.0)
{array}.put([0, 1], x[:2])
return np.sum({array} * x)

## loop
{array}[:] = 1.0
for i in range(4):
    {array}[i] = x[i] * {array}[i - 1]
return np.sum({array} * x)

## before
{array}[:] = x
t = {array} * 1.0
{array}[:] = 2.0
return np.sum(t * x) + np.sum({array} * x)

## held
t = {array}
{array}[0] = 1.0
{array}[1:] = x[0] * x[1]
return np.sum(t * x)
""")
#: A program of both.
WHOLE: Final = """
def put(t, v):
    t[:] = v


def take():
    {before}
    return {array}


def f(x):
    {before}
{body}
"""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("owner", OWNERS)
def test_arrays_that_outlive_a_call(owner: str, tmp_path: Path) -> None:
    _, before, array = owner.split(" | ")
    for text in BODIES.values():
        body = textwrap.indent(text.format(array=array), "    ")
        whole = WHOLE.format(before=before, array=array, body=body)
        check(OWNERS[owner] + whole, tmp_path)


#: Calls that write to y.
WRITES: Final = r"""
np.multiply.accumulate(x, out=y)
np.multiply.accumulate(x, 0, None, y)
np.multiply.accumulate(x, 0, float, y)
np.add.accumulate(x, 0, out=y)
np.multiply.reduceat(x, [0, 1, 2, 3], out=y)
np.multiply.reduceat(x, [0, 1, 2, 3], 0, None, y)
np.add.reduce(np.outer(x, x), out=y)
np.add.reduce(np.outer(x, x), 0, None, y)
np.add.reduce(np.outer(x, x), axis=1, out=y)
np.multiply.outer(x, x[0], out=y)
np.subtract.outer(x, 2.0, out=y)
np.add(x, x, y)
np.add(x, x, out=(y,))
np.sin(x, y)
np.cumsum(x, out=y)
np.cumsum(x, 0, None, y)
x.cumsum(out=y)
x.cumsum(0, None, y)
x.clip(0.1, 0.9, y)
x.clip(0.1, 0.9, out=y)
x.round(1, y)
x.take([3, 2, 1, 0], None, y)
x.take([3, 2, 1, 0], out=y)
x.dot(np.outer(x, x), y)
x.dot(np.outer(x, x), out=y)
np.outer(x, x).sum(0, None, y)
np.outer(x, x).mean(0, None, y)
np.outer(x, x).max(0, y)
np.outer(x, x).std(0, None, y)
np.outer(x, x).prod(axis=0, out=y)
np.outer(x, x).trace(out=y[:1].reshape(()))
np.outer(x, x).compress([True, False, False, False], 0, y[None])
np.dot(x, np.outer(x, x), y)
np.dot(x, np.outer(x, x), out=y)
np.matmul(x, np.outer(x, x), y)
np.einsum("i,i->i", x, x, out=y)
np.outer(x, x[:1], y[:, None])
np.outer(x, x[:1], out=y[:, None])
np.concatenate([x[:2], x[2:]], out=y)
np.concatenate([x[:2], x[2:]], 0, y)
np.concatenate((x[:2], x[2:]), axis=0, out=y)
np.stack([x[0], x[1], x[2], x[3]], out=y)
np.stack([x[0], x[1], x[2], x[3]], 0, y)
np.choose([0, 1, 0, 1], [x, x * 2], y)
np.choose([0, 1, 0, 1], [x, x * 2], out=y)
np.compress([True] * 4, x, None, y)
np.compress([True] * 4, x, out=y)
np.take(x, [1, 1, 0, 2], None, y)
np.take(x, [1, 1, 0, 2], 0, y)
np.clip(x, 0.4, 0.8, y)
np.clip(x, 0.4, 0.8, out=y)
np.round(x, 1, y)
np.sum(np.outer(x, x), 0, None, y)
np.mean(np.outer(x, x), 0, None, y)
np.var(np.outer(x, x), 0, None, y)
np.max(np.outer(x, x), 0, y)
np.median(np.outer(x, x), 0, y)
np.median(np.outer(x, x), axis=0, out=y)
np.quantile(np.outer(x, x), 0.3, 0, y)
np.percentile(np.outer(x, x), 30, 0, out=y)
np.nansum(np.outer(x, x), 0, None, y)
np.nanmax(np.outer(x, x), 0, y)
np.nanmean(np.outer(x, x), 0, None, y)
np.nanmedian(np.outer(x, x), 0, out=y)
np.nancumsum(x, 0, None, y)
np.cumprod(x, 0, None, y)
np.ptp(np.outer(x, x), 0, y)
np.heaviside(x - 0.5, x, y)
np.copysign(x, -1.0, y)
np.fix(x * 3, y)
np.fix(x * 3, out=y)
np.isneginf(x, out=y > 5)
np.nan_to_num(x, copy=False, nan=0.0)
np.ldexp(x, 2, y)
np.vecdot(np.outer(x, x), x, y)
np.cumulative_sum(x, out=y)
np.fft.fft(x, out=np.zeros(4, complex))
np.where(x > 0.5, x, y)
np.copyto(y, x * x)
np.copyto(dst=y, src=x * x)
np.array([0.5, 0.1]).searchsorted(x)
np.sqrt(x, where=x > 0.4, out=y)
np.sqrt(x, y, where=x > 0.4)
np.random.default_rng(0).random(out=y)
np.random.default_rng(0).shuffle(y)
np.random.default_rng(0).standard_normal(4, float, y)
np.lib.stride_tricks.as_strided(y, (4,), (8,)).__setitem__(0, x[1])
operator.iadd(y, x)
np.add.at(y, [0], x[:1])
np.put_along_axis(y, np.array([0]), x[1], 0)
np.fill_diagonal(y[None], x[0])
np.nditer([x, y], [], [["readonly"], ["writeonly"]]).close()
y.put([0], x[0])
np.ndarray.fill(y, x[2])
np.ndarray.__setitem__(y, 0, x[2])
np.ndarray.__iadd__(y, x)
np.ndarray.cumsum(x, 0, None, y)
np.ndarray.sort(y)
np.ndarray.partition(y, 1)
np.ndarray.put(y, [0], x[0])
np.ndarray.setfield(y, x[0], float)
np.ndarray.resize(y, 4)
y.byteswap(True)
y.byteswap(inplace=True)
y.setflags(write=False)
""".strip().splitlines()
#: Programs with a place for such a call.
PLACES: Final = sections(r"""
## made
def f(x):
    y = np.ones(4) * 2
    y[1] = 3.0
    {call}
    return np.sum(y * x)

## inert
def f(x):
    y = np.ones(4)
    {call}
    return np.sum(y * x)

## active
def f(x):
    y = x * 3.0
    {call}
    return np.sum(y * y)

## called
def g(x, y):
    {call}

def f(x):
    y = x * 0.5
    g(x, y)
    return np.sum(y * x)

## inloop
def f(x):
    y = np.zeros(4)
    s = 0.0
    for _ in range(2):
        {call}
        s += np.sum(y * x)
    return s
""")
#: Programs that make the call by other means: of the function, and its arguments.
INDIRECT: Final = sections(r"""
## runtime
def g(op, *a, **k):
    return op(*a, **k)

def f(x):
    y = np.zeros(4)
    g({h}, {a})
    return np.sum(y * x)

## listed
def f(x):
    y = np.zeros(4)
    for op in [{h}]:
        op({a})
    return np.sum(y * x)

## partial
def f(x):
    y = np.zeros(4)
    functools.partial({h})({a})
    return np.sum(y * x)

## dict
OPS = {{'p': {h}}}
def f(x):
    y = np.zeros(4)
    OPS['p']({a})
    return np.sum(y * x)

## spread
def f(x):
    y = np.zeros(4)
    t = ({p},)
    {h}(*t{o})
    return np.sum(y * x)

## kwspread
def f(x):
    y = np.zeros(4)
    {h}({p}, **dict({k}))
    return np.sum(y * x)
""")


@pytest.mark.sampled(15)
@pytest.mark.parametrize("call", WRITES)
def test_results_that_are_written_elsewhere(call: str, tmp_path: Path) -> None:
    for template in PLACES.values():
        check(template.format(call=call), tmp_path)
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    function = ast.unparse(node.func)
    if not function.startswith("np.") or "(" in function:
        return
    by_position = ", ".join(map(ast.unparse, node.args))
    by_name = ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in node.keywords)
    options = f", {by_name}" if by_name else ""
    whole = by_position + options if by_position else by_name
    for template in INDIRECT.values():
        check(
            template.format(h=function, a=whole, p=by_position or "*()", k=by_name, o=options),
            tmp_path,
        )


#: What depends on which elements a traced mask has, so that compiled programs decide.
OF_MASKS: Final = (
    """
x[np.where(x > 0.5)[0]].sum(); np.where(x > 0.5)[0].sum() * x[0]; x[x > 0.5].prod()
np.flatnonzero(x > 0.5).sum() * x[0]; np.nonzero(x > 0.5)[0].sum() * x[0]; len(x[x > 0.5]) * x[0]
np.argwhere(x > 0.5).sum() * x[0]; np.compress(x > 0.5, x).sum(); np.extract(x > 0.5, x).sum()
np.delete(x, np.where(x > 0.5)[0]).sum(); np.count_nonzero(x > 0.5) * x[0]
np.take(x, np.flatnonzero(x > 0.5)).sum(); np.where(x > 0.5, x, 2 * x).sum()
""".strip()
    .replace("\n", ";")
    .split(";")
)


@pytest.mark.parametrize("text", [*map(str.strip, OF_MASKS)])
def test_masks_decide(text: str, tmp_path: Path) -> None:
    subject = entries.Subject(f"import numpy as np\n\n\ndef f(x):\n    return {text}\n", tmp_path)
    outcomes = dict(entries.outcomes(subject))
    captured = {name: x for name, x in outcomes.items() if "capture" in name}
    assert not any(captured.values()), captured
    assert not any(x for x in outcomes.values() if x and not x.startswith("refused")), outcomes


#: Numbers and arrays, and what they have: those of NumPy's numbers are themselves, not views.
NUMBERS: Final = (
    *("np.sum(x)", "x[-1]", "np.array(x[1])", "np.sin(x[0])", "x @ x", "x[0] + 1j * x[1]"),
    *("np.sum(x, keepdims=True)", "x * 1", "np.outer(x, x)", "np.float32(0.5) * x[0]"),
)
MEMBERS: Final = """
T; real; imag; T.T; real.T; T.real + y; T.sum(); T.copy(); item(0); sum(); mean(); max(); prod()
std(); cumsum()[0]; copy(); conj(); conjugate().T; round(1); clip(0.1, 9.0); squeeze()
ravel()[0]; flatten()[-1]; reshape(-1)[0]; transpose(); repeat(2)[0]; take(0); astype(float)
view(); argmax(); any(); compress([True])[0]; __add__(2); __radd__(2); __mul__(y)
__rmul__(y); __neg__(); __abs__(); __pow__(2); __rpow__(2); __truediv__(2); __rtruediv__(2)
__rsub__(1); __pos__(); __array__(); __copy__(); __deepcopy__({}); __getitem__(...); flat[0]
base; data; ndim; size; dtype.itemsize; nbytes; tolist(); item(); diagonal(); trace()
""".strip().replace("\n", ";")


#: Numbers that functions take beside arrays, and columns that they take for a matrix.
PARAMETERS: Final = """
np.heaviside(x - x, x[1]).sum(); np.histogramdd([x, x * x], 3)[0] @ x[:3] @ x[:3]
np.isscalar(np.array(x[1])) + x[0]; np.isscalar(x[1]) + x[0]
""".strip().replace("\n", ";")


@pytest.mark.parametrize("call", PARAMETERS.split(";"))
def test_parameters(call: str, tmp_path: Path) -> None:
    check(f"def f(x):\n    return {call.strip()}\n", tmp_path)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("member", MEMBERS.split(";"))
@pytest.mark.parametrize("number", NUMBERS)
def test_what_numbers_have(number: str, member: str, tmp_path: Path) -> None:
    lines = f"y = {number}\n    z = y.{member.strip()}\n    s = np.sum(np.asarray(z) * 1.0)"
    check(f"def f(x):\n    {lines}\n    return np.abs(s) * 3 + np.abs(np.sum(y))\n", tmp_path)
