"""Arrays in programs: views, indices, iteration, lists in their place."""

from typing import Any

import numpy as np
import pytest
from differences import slope_at
from semantics import F, Function, check

from tinyjax import source

PROGRAMS: list[Any] = []


def program(fun: F) -> F:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


@program
def np_scalar_inplace(x: Any) -> Any:
    a = np.float64(x)
    b = a
    a += x
    return a * b


@program
def ellipsis_index(x: Any) -> Any:
    a = np.array([[x, 2.0], [3.0, x]])
    return a[..., 0].sum()


@program
def np_object(x: Any) -> Any:
    a = np.array([x, 2.0], dtype=object)
    return a[0] * a[1]


@program
def np_int_array(x: Any) -> Any:
    a = np.array([1, 2])
    return (a * x).sum()


@program
def np_where_one(x: Any) -> Any:
    a = np.array([x, -x])
    return a[np.where(a > 0)].sum()


@program
def np_nonzero(x: Any) -> Any:
    a = np.array([x, 0.0])
    return a[a.nonzero()].sum()


@program
def np_any(x: Any) -> Any:
    a = np.array([x, -1.0])
    return x if (a > 0).any() else -x


@program
def np_iter(x: Any) -> Any:
    t = 0.0
    for v in np.array([x, x * x]):
        t += v
    return t


@program
def np_float_of_array(x: Any) -> Any:
    return float(np.array([x])[0]) * x


@program
def np_len_loop(x: Any) -> Any:
    a = np.array([x, 2.0, x])
    t = 0.0
    for i in range(len(a)):
        t = t + a[i] * i
    return t


@program
def np_matrix_T(x: Any) -> Any:
    a = np.array([[x, 1.0], [2.0, x]])
    return (a.T @ a).trace()


@program
def np_array_copy_false(x: Any) -> Any:
    a = np.array([x, 2.0])
    return np.array(a, ndmin=2)[0, 0] * x


@program
def np_concat_scalars(x: Any) -> Any:
    return np.concatenate([[x], [2.0, x]]).sum()


@program
def np_sum_list(x: Any) -> Any:
    return np.sum([x, [x, 2.0][0]]) + np.mean([x, 1.0]) + np.max([x, 0.1])


@program
def np_dot_list(x: Any) -> Any:
    return np.dot([x, 2.0], [1.0, x])


@program
def np_linalg_list(x: Any) -> Any:
    return np.linalg.det([[x, 1.0], [2.0, x]])


@program
def np_stack_gen(x: Any) -> Any:
    return np.stack([np.ones(2) * i * x for i in range(3)]).sum()


@program
def np_sqrt_scalar(x: Any) -> Any:
    return np.sqrt(x) * np.exp(np.float64(x))


@program
def np_cumsum_last(x: Any) -> Any:
    return np.cumsum([x, 2.0, x])[-1]


@program
def np_tuple_index(x: Any) -> Any:
    a = np.arange(6.0).reshape(2, 3) * x
    idx = (1, slice(None, None, 2))
    return a[idx].sum()


@program
def np_argmax_index(x: Any) -> Any:
    a = np.array([x, 0.2])
    return a[np.argmax(a)] * a[a.argmin()]


@program
def np_select(x: Any) -> Any:
    return np.select([np.array([x]) > 0], [np.array([x * 2])], 0.0)[0]


@program
def np_fromfunction(x: Any) -> Any:
    return np.fromfunction(lambda i: i * x, (3,)).sum()


@program
def numpy_scalar_ops(x: Any) -> Any:
    v = np.float64(x)
    return v * 2 + np.sin(v) + v**2 + abs(v) + float(v) + max(v, 0.1) + round(float(v), 1)


@program
def numpy_0d(x: Any) -> Any:
    a = np.array(x)
    return a * a + a.sum() + a[()] + float(a)


@program
def numpy_mixed_scalars(x: Any) -> Any:
    a = np.array([1.0, 2.0])
    return (x * a + a / x - x).sum() + (a**x).sum() + (x**a).sum()


@program
def numpy_broadcast_scalar(x: Any) -> Any:
    m = np.ones((2, 3)) * x
    v = np.array([x, 1.0, 2.0])
    return (m + v).sum() * (m * v).mean() + (v[:, None] * v).sum()


@program
def numpy_list_of_arrays(x: Any) -> Any:
    xs = [np.ones(2) * x, np.arange(2.0)]
    return sum(xs).sum() + np.sum(xs) + np.stack(xs)[0, 1]


@program
def numpy_unpack(x: Any) -> Any:
    a, b = np.array([x, x * x])
    (c, d), e = np.array([[x, 1.0], [2.0, x]])  # noqa: RUF059
    return a * b + c * e[1]


@program
def numpy_iter_rows(x: Any) -> Any:
    t = 0.0
    for row in np.array([[x, 1.0], [2.0, x]]):
        for v in row:
            t = t * 0.5 + v
    return t


@program
def numpy_bool_index(x: Any) -> Any:
    a = np.array([x, -x, 2.0])
    return a[a > 0].sum() + a[~(a > 0)].sum() * 2 + (a > 0).sum() * x


@program
def numpy_int_index(x: Any) -> Any:
    a = np.array([x, 2.0, x * x])
    i = np.argmax(a)
    return a[i] * a[np.array([0, 0, 2])].sum() * a[[1, 2]].prod()


@program
def numpy_comp(x: Any) -> Any:
    return np.array([[x * i + j for i in range(2)] for j in range(3)]).sum(axis=0)[1]


@program
def numpy_zeros_plus(x: Any) -> Any:
    a = np.zeros(3)
    for i in range(3):
        a = a + x * np.eye(3)[i] * i
    return a @ a


@program
def numpy_where_scalar(x: Any) -> Any:
    return float(np.where(x > 0, x * x, -x)) + np.where([True, False], x, 2.0).sum()


@program
def numpy_max_scalar(x: Any) -> Any:
    return np.maximum(x, 0.3) + np.minimum(x, 5.0) * np.max([x, 0.1]) + np.clip(x, 0.0, 1.0)


@program
def numpy_inplace_scalar(x: Any) -> Any:
    t = np.float64(0.0)
    t += x
    t *= x
    return t


@program
def numpy_matmul_chain(x: Any) -> Any:
    A = np.array([[x, 1.0], [0.0, x]])
    v = np.array([1.0, x])
    return v @ A @ A.T @ v


@program
def numpy_linalg(x: Any) -> Any:
    A = np.array([[2.0 + x, 1.0], [0.5, 3.0]])
    b = np.array([x, 1.0])
    return np.linalg.solve(A, b) @ b + np.linalg.norm(A @ b) + np.linalg.inv(A)[0, 1]


@program
def numpy_reduce_axes(x: Any) -> Any:
    a = np.arange(8.0).reshape(2, 2, 2) * x
    return (
        a.sum(axis=(0, 2))[1]
        + a.mean(axis=-1).max()
        + a.min(axis=0).sum()
        + np.sum(a, axis=1, keepdims=True)[0, 0, 1]
    )


@program
def numpy_float32(x: Any) -> Any:
    a = np.array([x, 1.0], dtype=np.float64).astype(float)
    return a.dot(a)


@program
def numpy_transpose_axes(x: Any) -> Any:
    a = np.arange(6.0).reshape(1, 2, 3) * x
    return (
        a.transpose(2, 0, 1)[1, 0, 1]
        + a.transpose((0, 2, 1))[0, 2, 1]
        + np.swapaxes(a, 0, 2)[1, 1, 0]
    )


@program
def numpy_reshape_variants(x: Any) -> Any:
    a = np.arange(6.0) * x
    return (
        a.reshape(2, 3)[1, 2]
        + a.reshape((3, 2))[1, 1]
        + a.reshape(-1, 2)[0, 1]
        + np.reshape(a, (2, -1))[1, 0]
    )


@program
def numpy_item_of_a_scalar(x: Any) -> Any:
    return source.grad(lambda y: y.item() ** 3)(np.float64(x)) * np.array([x]).item() ** 2


@program
def numpy_is_integer(x: Any) -> Any:
    return source.grad(lambda y: y * y if y.is_integer() else y**3)(x)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_it_means_what_it_means_in_python(fun: Function) -> None:
    check(fun)


# Arrays that have two names where a loop begins


def sums_from_the_argument(x: Any) -> Any:
    y = x
    for _ in range(3):
        y = y + x
    return np.sum(y * y)


def items_beside_another_name(x: Any) -> Any:
    y, total = x, 0.0
    for i in range(x.size):
        total += x[i] * x[i - 1] * i
        y = y * total
    return total + y.sum()


def another_name_by_a_condition(x: Any) -> Any:
    u = x * x
    y = u if x[0] > 0 else 2.0 * x
    total = 0.0
    for i in range(u.size):
        total += u[i] * u[i]
    return total * np.sum(y)


def names_that_change_places(x: Any) -> Any:
    a, b = x, np.sin(x)
    first = a
    for _ in range(3):
        a, b = b * x, a + first
    return np.sum(a * b)


def fewer_turns_than_one(x: Any) -> Any:
    y = x
    for i in range(x.size - 4):
        y = y * x[i]
    return np.sum(y * x)


def nested_loops_from_the_argument(x: Any) -> Any:
    y = x
    for _ in range(2):
        z = x
        for _ in range(2):
            z = z * x
        y = y + z
    return np.sum(y * x)


def made_wide(x: Any) -> Any:
    y = x
    for k in range(3):
        y = y * np.ones((2, 1)) if k == 1 else y + x
    return y.sum()


@pytest.mark.parametrize(
    "fun",
    [
        sums_from_the_argument,
        items_beside_another_name,
        another_name_by_a_condition,
        names_that_change_places,
        fewer_turns_than_one,
        nested_loops_from_the_argument,
        made_wide,
    ],
)
def test_arrays_with_two_names_before_a_loop(fun: Function) -> None:
    """Cotangents through either name of an array count, in first and second derivatives."""
    x, along = np.array([0.7, 1.3, 0.4, 1.1]), np.array([0.3, -0.5, 0.2, 0.9])
    gradient = source.grad(fun)
    slope = slope_at(lambda t: fun(x + t * along), 0.0)
    np.testing.assert_allclose(gradient(x) @ along, slope, rtol=1e-8)
    curvature = slope_at(lambda t: gradient(x + t * along) @ along, 0.0)
    second = source.grad(lambda x: gradient(x) @ along)(x) @ along
    np.testing.assert_allclose(second, curvature, rtol=1e-7)
