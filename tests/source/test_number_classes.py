"""Numbers and properties of classes of the program's own, objects, and numbers as texts."""

import random
from pathlib import Path
from typing import Final

import entries
import pytest

pytestmark = pytest.mark.usefixtures("double_precision")

#: Classes, and what programs compute with them of an array of four numbers.
PROGRAMS: Final = {
    """
class A(float):
    pass
""": (
        "return A(x[0]) + x[1]",
        "a = A(x[0]); return (a * 2 - 1 / a) ** 2 % 3 + abs(-a) // 1 + a ** x[1]",
        "a = A(float(x[0])); return math.sin(a) * np.cos(a) + math.hypot(a, x[1])",
        """a = A(x[0])
y = a * (2 if isinstance(a, float) and isinstance(a, A) else 3) * (5 if type(a) is A else 7)
return y * (1 if type(a + 1) is float else 11)""",
        "return max(A(x[0]), A(x[1])) * x[2] if A(x[0]) > 0.5 else x[1]",
        "return np.array([A(x[0]), A(x[1]), 1.0]).sum() * A(x[2])",
        "a = A(x[0]); a.y = x[1]; return a * a.y",
        "a = float(A(x[0])); return a * (2 if type(a) is float else 3)",
        "a = copy.copy(A(x[0])); b = copy.deepcopy([A(x[1])]); return a * b[0]",
        "a = A(2.5); return a * x[0] + (a + 1) * x[1]",
        "return sum(sorted([A(x[0]), A(x[1]), A(x[2])])[1:]) * x[0]",
        "s = f'{A(x[0]):.2f}'; return x[0] * len(s)",
        "return round(A(x[2]) * 3) * x[0] + int(A(x[2]) * 2) * x[1] + A(x[2]).is_integer() * x[3]",
        "return x[0] if A(x[0] - x[0]) else x[1]",
        """try:
    return x[0] / A(x[0] - x[0])
except ZeroDivisionError:
    return x[1]""",
        """try:
    return float(x[0]) / A(x[0] - x[0])
except ZeroDivisionError:
    return x[1]""",
        "return x[int(A(x[2]))] * x[0]",
        "a = A(x[0]); return a.real * 2 + a.imag + a.conjugate()",
        "return x[0] if A(x[0]) == x[0] else x[1]",
        "return A('2.5') * x[0]",
    ),
    """
class B(float):
    def __new__(cls, x, name="b"):
        self = super().__new__(cls, x)
        self.name = name
        return self
    def doubled(self): return B(2 * self, self.name + "2")
    @property
    def squared(self): return self * self
    def __add__(self, o): return B(super().__add__(o), self.name)
    __radd__ = __add__
    def __repr__(self): return f"B({float(self)})"
""": (
        "return B(x[0]).doubled() * x[1]",
        "b = B(x[0], 'k'); return b * len(b.name) + b.squared",
        "b = B(x[0]) + x[1]; return b * (2 if type(b) is B else 3)",
        "b = x[1] + B(x[0]); return b * (2 if type(b) is B else 3)",
        "b = float(x[1]) + B(x[0]); return b * (2 if type(b) is B else 3)",
        "return sum([B(x[0]), B(x[1])]) * x[2]",
        "return (np.asarray([B(x[0]), B(x[1])]) * x[:2]).sum()",
        "return np.add(B(x[0]), x[1]) * x[2]",
        "return (B(x[0]) * x).sum() + (x * B(x[1])).sum()",
    ),
    """
class C(float):
    def __init__(self, x): self.twice = x * 2
    def __mul__(self, o): return C(float.__mul__(self, o))
    def __lt__(self, o): return float.__lt__(self, o)
""": (
        "c = C(x[0]); return c * x[1] + c.twice",
        "c = C(x[0]) * x[1]; return c.twice * (2 if type(c) is C else 3)",
        "return x[1] if C(x[0]) < 0.5 else x[2]",
    ),
    """
class Base:
    def __new__(cls, typ, arg, name=""):
        self = typ.__new__(cls, arg)
        if name: self.name = name
        return self
    def half(self): return self / 2
class D(Base, float):
    def __new__(cls, arg, name=""):
        return Base.__new__(cls, float, arg, name)
class E(D):
    def __new__(cls, arg, name="e"):
        d = D.__new__(cls, arg, name)
        if float(d) > 100: raise ValueError("large")
        return d
""": (
        "return D(x[0]).half() * x[1]",
        "e = E(x[0]); return e.half() * len(e.name)",
        "return sum(E(v).half() for v in x) * E(x[0])",
        "return {'a': E(x[0])}['a'] * x[1]",
        """def g(e): return e.half() if isinstance(e, D) else E(e).half()
return g(x[0]) * g(E(x[1]))""",
        "return g(E(x[0])) * x[1]",
        "return x[0] * len(str(E(0.5)))",
    ),
    """
class B(float):
    def __new__(cls, x, name="b"):
        self = super().__new__(cls, x)
        self.name = name
        return self
    def doubled(self): return B(2 * self, self.name + "2")
    @property
    def squared(self): return self * self
    def __add__(self, o): return B(super().__add__(o), self.name)
    __radd__ = __add__
    def __repr__(self): return f"B({float(self)})"

    def __sub__(self, o): return B(float(self) - float(o) * 2)
    def __eq__(self, o): return abs(float(self) - float(o)) < 0.5
    __hash__ = float.__hash__
    def __lt__(self, o): return float(self) > float(o)
    def __neg__(self): return B(float(self) * 3)
    def __abs__(self): return B(float(self) * 5)
    def __call__(self, u): return self * u
    def __getitem__(self, i): return float(self) * i
    def __iadd__(self, o): return B(float(self) + 7 * float(o))
    def __float__(self): return float.__float__(self) * 1.0
""": (
        "return (B(x[0]) - x[1]) * x[2]",
        "return x[0] if B(x[0]) == x[1] else x[1]",
        "return max(B(x[0]), B(x[1])) * x[2] + sorted([B(v) for v in x])[0]",
        "return -B(x[0]) * x[1]",
        "return abs(B(x[0])) * x[1]",
        "return B(x[0])[3] * x[1]",
        "b = B(x[0]); b += x[1]; return b * x[2]",
        "return sum([B(v) for v in x], B(x[0])) * x[1]",
        "return functools.reduce(lambda a, b: a - b, [B(v) for v in x])",
        "return (x[0] if B(x[0]) < x[1] else x[1]) + (x[2] if x[0] < B(x[1]) else x[3])",
        "return np.abs(B(x[0])) * x[1]",
        "return np.dot([B(x[0]), B(x[1])], x[:2])",
        "return math.fsum([B(x[0]), B(x[1])]) * x[2]",
        "return (float(x[1]) - B(x[0])) * x[2]",
        "return min([B(v) for v in x], key=lambda b: -b) * x[1]",
    ),
    """
class A:
    def __init__(self, v): self.v = v
    def __radd__(self, u): return u * self.v
    def __rsub__(self, u): return u - self.v
    def __rmul__(self, u): return u + self.v
    def __rtruediv__(self, u): return u / self.v
    def __rpow__(self, u): return u ** self.v
    def __lt__(self, u): return self.v < u
    def __gt__(self, u): return self.v > u
    def __eq__(self, u): return self.v == u
    def __rmatmul__(self, u): return u.sum() * self.v
    def __rfloordiv__(self, u): return u * self.v * 3
    def __rmod__(self, u): return u * self.v * 5
""": (
        "return (x[0] + A(x[1])) * x[2]",
        "return (float(x[0]) + A(x[1])) * x[2]",
        "return (x[0] - A(x[1])) * x[2]",
        "return (float(x[0]) - A(x[1])) * x[2]",
        "return (x[0] * A(x[1])) * x[2]",
        "return (float(x[0]) * A(x[1])) * x[2]",
        "return (x[0] / A(x[1])) * x[2]",
        "return (float(x[0]) / A(x[1])) * x[2]",
        "return (x[0] ** A(x[1])) * x[2]",
        "return (float(x[0]) ** A(x[1])) * x[2]",
        "return (x[0] // A(x[1])) * x[2]",
        "return (float(x[0]) // A(x[1])) * x[2]",
        "return (x[0] % A(x[1])) * x[2]",
        "return (float(x[0]) % A(x[1])) * x[2]",
        "return x[0] if x[0] < A(x[1]) else x[2] ** 2",
        "return x[0] if x[0] == A(x[0]) else x[2] ** 2",
        "return sum([x[0], A(x[1])]) * x[2]",
        """y = x[0]
y += A(x[1])
return y * x[2]""",
    ),
    """
class O:
    def __init__(self, v): self.v = v
    def __str__(self): return '%.3f' % self.v
""": (
        """s = '%.3f' % x[0]
return x[0] * len(s)""",
        """s = '%.3f %s' % (float(x[0]), 'a')
return x[0] * len(s)""",
        """s = '%(a).2f' % {'a': x[0]}
return x[0] * len(s)""",
        """s = '%g' % float(x[0])
return x[0] * len(s)""",
        """s = '%s' % x[0]
return x[0] * len(s)""",
        """s = '%r' % float(x[0])
return x[0] * len(s)""",
        """s = '%s' % x
return x[0] * len(s)""",
        """s = '%s' % [float(x[0])]
return x[0] * len(s)""",
        """s = '{:.3f}'.format(x[0])
return x[0] * len(s)""",
        """s = '{a:.3f}{b}'.format(a=float(x[0]), b=x[1])
return x[0] * len(s)""",
        """s = f'{x[0]:.3f}'
return x[0] * len(s)""",
        """s = format(x[0], '.2f')
return x[0] * len(s)""",
        """s = str(float(x[0]))
return x[0] * len(s)""",
        """s = repr(x[0])
return x[0] * len(s)""",
        """s = ','.join(map(str, x.tolist()))
return x[0] * len(s)""",
        """s = ','.join(['%.2f' % v for v in x])
return x[0] * len(s)""",
        """s = ''.join(map('{:.2f}'.format, x))
return x[0] * len(s)""",
        """s = '%d' % float(x[2])
return x[0] * len(s)""",
        """s = np.array2string(x)
return x[0] * len(s)""",
        """s = str([x[0], float(x[1])])
return x[0] * len(s)""",
        """s = str((x[0], 1))
return x[0] * len(s)""",
        """s = '{a:.1f}'.format_map({'a': x[0]})
return x[0] * len(s)""",
        """s = f'{x[0]:{5}.{2}f}'
return x[0] * len(s)""",
        """s = f'{O(x[0])}'
return x[0] * len(s)""",
        """s = '%s' % O(x[0])
return x[0] * len(s)""",
    ),
    """
class R(property):
    def __get__(self, o, t=None):
        v = self.fget(o)
        setattr(type(o), 'p', (v, 2.0, 3.0))
        return getattr(o, 'p')
class A: p = R(lambda self: 5.0)
""": ("a = A(); a.v = x; return a.p[0] * a.p[1] * a.p[2]",),
    """
P = property(lambda self: self.v[0] * 2)
class A:
    p = P
""": (
        "a = A(); a.v = x; r = a.p; A.p = 3.0; s = a.p; A.p = P; return r * s",
        """a = A(); a.v = x; r = a.p; A.p = property(lambda self: self.v[1])
s = a.p; A.p = P; return r * s""",
    ),
    """
class R(property): pass
class A:
    @R
    def p(self): return self.v[0] * 2
    def g(self): return self.w * 3
    def s(self, u): self.w = u * self.v[1]
    q = R(g, s)
""": ("a = A(); a.v = x; a.q = x[2]; return a.p * a.q",),
    """
class C(property):
    def __get__(self, o, t=None):
        if 'c' not in o.__dict__: o.__dict__['c'] = self.fget(o)
        return o.__dict__['c']
class A:
    @C
    def p(self): return np.sin(self.v[0])
""": ("a = A(); a.v = x; return a.p * a.p",),
    """
class Base(np.ndarray):
    def __new__(cls, a): return np.asarray(a).view(cls)
    def round(self, n=0): return self * 3
class S(Base): pass
""": ("p = S(np.stack([x, x * 2])); r = np.unique(p, axis=0); return (r * 2).sum() * x[0]",),
}
TEXTS: Final = [
    f"import copy, functools, math\nimport numpy as np\n{head}\ndef f(x):\n"
    + "".join(f"    {line}\n" for line in body.splitlines())
    for head, bodies in PROGRAMS.items()
    for body in bodies
]


@pytest.mark.parametrize("turn", range(14))
def test_some_programs(turn: int, tmp_path: Path) -> None:
    """A program has the same numbers in all ways, or is refused."""
    entries.check(random.Random(turn).choice(TEXTS), tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", TEXTS)
def test_all_programs(text: str, tmp_path: Path) -> None:
    entries.check(text, tmp_path)
