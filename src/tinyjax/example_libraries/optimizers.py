"""Optimizers of trees of parameters, by the names of ``jax.example_libraries.optimizers``.

An optimizer is a triple: ``init(params) -> state``, ``update(i, gradient, state) -> state`` and
``get_params(state) -> params``. A step size is a number, or a function of the step ``i``.

Example:
    >>> import tinyjax, tinyjax.numpy as jnp
    >>> from tinyjax.example_libraries import optimizers
    >>> init, update, get_params = optimizers.adam(0.1)
    >>> state = init({"x": jnp.array(3.0)})
    >>> for i in range(200):
    ...     gradient = tinyjax.grad(lambda p: (p["x"] - 1) ** 2)(get_params(state))
    ...     state = update(i, gradient, state)
    >>> round(float(get_params(state)["x"]), 2)
    1.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce, wraps
from typing import Any, NamedTuple, ParamSpec, TypeAlias

import attrs

from tinyjax import errors, numpy as jnp, tree
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike

P = ParamSpec("P")
Schedule: TypeAlias = Callable[[Any], Any]
Arrays: TypeAlias = tuple[Array, ...]
#: A step, its size, a gradient, an array of parameters and what is kept of the steps before: the
#: new ones.
Update: TypeAlias = Callable[..., Arrays]

lazy.answer_for(
    __name__,
    "JoinPoint Optimizer OptimizerState adagrad adam adamax clip_grads constant exponential_decay "
    "inverse_time_decay l2_norm make_schedule momentum nesterov optimizer pack_optimizer_state "
    "piecewise_constant polynomial_decay rmsprop rmsprop_momentum sgd sm3 unpack_optimizer_state",
)


@attrs.frozen
class OptimizerState:
    """The state of each array of parameters, and the structure of the parameters.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> state = optimizers.momentum(0.1, 0.9).init_fn({"w": jnp.array([3.0])})
        >>> state.states
        [(Array([3.], dtype=float32), Array([0.], dtype=float32))]
    """

    states: list[tree.PyTree]
    treedef: tree.PyTreeDef


tree.register_dataclass(OptimizerState, ["states"], ["treedef"])


class Optimizer(NamedTuple):
    """The functions of an optimizer.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.sgd(0.1)._fields
        ('init_fn', 'update_fn', 'params_fn')
    """

    init_fn: Callable[[tree.PyTree], OptimizerState]
    update_fn: Callable[[Any, tree.PyTree, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], tree.PyTree]


def optimizer(
    opt_maker: Callable[P, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]],
) -> Callable[P, Optimizer]:
    """Make an optimizer of single arrays one of trees. A decorator.

    Args:
        opt_maker: returns a triple of functions for an array.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> @optimizers.optimizer
        ... def sign_descent(step_size):
        ...     def update(i, gradient, x):
        ...         return x - step_size * jnp.sign(gradient)
        ...     return lambda x: x, update, lambda x: x
        >>> init, update, params_of = sign_descent(0.1)
        >>> params_of(update(0, {"w": jnp.array(-9.0)}, init({"w": jnp.array(1.0)})))
        {'w': Array(1.1, dtype=float32, weak_type=True)}
    """

    @wraps(opt_maker)
    def made(*args: P.args, **kwargs: P.kwargs) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params: tree.PyTree) -> OptimizerState:
            leaves, treedef = tree.flatten(params)
            return OptimizerState([init(jnp.asarray(x)) for x in leaves], treedef)

        def tree_update(i: Any, gradient: tree.PyTree, state: OptimizerState) -> OptimizerState:
            gradients = map(jnp.asarray, state.treedef.flatten_up_to(gradient, "gradient"))
            pairs = zip(gradients, state.states, strict=True)
            return OptimizerState([update(i, g, s) for g, s in pairs], state.treedef)

        def tree_get_params(state: OptimizerState) -> tree.PyTree:
            return state.treedef.unflatten(map(get_params, state.states))

        return Optimizer(tree_init, tree_update, tree_get_params)

    return made


@optimizer
def _keeping(
    step_size: float | Schedule, moments: int, update: Update
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return an optimizer that keeps so many arrays beside each array of parameters."""

    def init(x: Array) -> Arrays:
        return (x, *[jnp.zeros_like(x) for _ in range(moments)])

    size = make_schedule(step_size)
    return init, lambda i, g, state: update(i, size(i), g, *state), lambda state: state[0]


def sgd(step_size: float | Schedule) -> Optimizer:
    """Make gradient descent: ``x - step_size * gradient``.

    Args:
        step_size: a number, or a function of the step.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.sgd(0.5)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.25, 25.  ], dtype=float32)
    """
    return _keeping(step_size, 0, lambda i, size, g, x: (x - size * g,))


def momentum(step_size: float | Schedule, mass: float) -> Optimizer:
    """Make gradient descent with momentum: a step repeats ``mass`` times the one before.

    Args:
        step_size: a number, or a function of the step.
        mass: how much of the last velocity stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.momentum(0.5, mass=0.9)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ -0.2, -20. ], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, velocity: Array) -> Arrays:
        velocity = mass * velocity + g
        return x - size * velocity, velocity

    return _keeping(step_size, 1, update)


def nesterov(step_size: float | Schedule, mass: float) -> Optimizer:
    """Make gradient descent with Nesterov's momentum, which looks one step ahead.

    Args:
        step_size: a number, or a function of the step.
        mass: how much of the last velocity stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.nesterov(0.5, mass=0.9)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ -0.402, -40.25 ], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, velocity: Array) -> Arrays:
        velocity = mass * velocity + g
        return x - size * (mass * velocity + g), velocity

    return _keeping(step_size, 1, update)


def adagrad(step_size: float | Schedule, momentum: float = 0.9) -> Optimizer:
    """Make Adagrad (Duchi et al., JMLR 12, 2011): steps shrink by the squares of all gradients.

    Args:
        step_size: a number, or a function of the step.
        momentum: how much of the last step stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.adagrad(0.5, momentum=0.0)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.276, 99.147], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, squares: Array, m: Array) -> Arrays:
        squares = squares + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - size * m, squares, m

    return _keeping(step_size, 2, update)


def _inverse_root(squares: Array) -> Array:
    return jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)


def rmsprop(step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8) -> Optimizer:
    """Make RMSProp: gradients are divided by the root of a moving average of their squares.

    So parameters of any size move alike.

    Args:
        step_size: a number, or a function of the step.
        gamma: how much of the average stays.
        eps: is added to the average.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.rmsprop(0.1)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.499, 99.455], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, average: Array) -> Arrays:
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size * g / jnp.sqrt(average + eps), average

    return _keeping(step_size, 1, update)


def rmsprop_momentum(
    step_size: float | Schedule, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Optimizer:
    """Make RMSProp with momentum: a step repeats ``momentum`` times the one before.

    Args:
        step_size: a number, or a function of the step.
        gamma: how much of the average stays.
        eps: is added to the average.
        momentum: how much of the last step stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.rmsprop_momentum(0.1)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.214, 99.17 ], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, average: Array, m: Array) -> Arrays:
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + size * g / jnp.sqrt(average + eps)
        return x - m, average, m

    return _keeping(step_size, 2, update)


def adam(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Optimizer:
    """Make Adam (Kingma and Ba, 2014): momentum, divided by the gradients' size as in RMSProp.

    Args:
        step_size: a number, or a function of the step.
        b1: how much of the average of gradients stays.
        b2: how much of the average of their squares stays.
        eps: is added to the root of that.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.adam(0.1)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.8, 99.8], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, m: Array, v: Array) -> Arrays:
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        unbiased_v = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - size * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v

    return _keeping(step_size, 2, update)


def adamax(
    step_size: float | Schedule, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> Optimizer:
    """Make AdaMax: Adam, with the greatest gradient so far in place of the second moment's root.

    Args:
        step_size: a number, or a function of the step.
        b1: how much of the average of gradients stays.
        b2: how much of the greatest one stays.
        eps: is added to that.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.adamax(0.1)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.805, 99.8  ], dtype=float32)
    """

    def update(i: Any, size: Any, g: Array, x: Array, m: Array, u: Array) -> Arrays:
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        scale = size / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        return x - scale * m / (u + eps), m, u

    return _keeping(step_size, 2, update)


@optimizer
def sm3(
    step_size: float | Schedule, momentum: float = 0.9
) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Make SM3 (Anil et al., 2019): Adagrad with one second moment for each row of each axis.

    Args:
        step_size: a number, or a function of the step.
        momentum: how much of the last step stays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> init, update, params_of = optimizers.sm3(0.5, momentum=0.0)
        >>> state = init(jnp.array([1.0, 100.0]))
        >>> for i in range(2):
        ...     state = update(i, params_of(state), state)  # the gradient of x**2 / 2 is x
        >>> jnp.round(params_of(state), 3)
        Array([ 0.276, 99.147], dtype=float32)
    """
    size = make_schedule(step_size)

    def init(x: Array) -> Any:
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in x.shape or (1,)]

    def update(i: Any, g: Array, state: Any) -> Any:
        x, m, moments = state
        axes = range(x.ndim)
        along = [
            v.reshape([-1 if axis == other else 1 for other in axes])
            for axis, v in enumerate(moments)
        ]
        total = reduce(jnp.minimum, along) + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(total)) + momentum * m
        rest = [[other for other in axes if other != axis] for axis in axes] or [[]]
        moments = [jnp.max(total, others).reshape(-1) for others in rest]
        return x - size(i) * m, m, moments

    return init, update, lambda state: state[0]


# Schedules


def constant(step_size: float) -> Schedule:
    """Make a schedule of one step size.

    Schedules are functions of the step, which counts from 0; optimizers take them or numbers.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.constant(0.1)(1000)
        0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: float, decay_steps: float, decay_rate: float) -> Schedule:
    """Make a schedule that is multiplied by ``decay_rate`` in every ``decay_steps`` steps.

    It falls smoothly, also between: at step ``i`` it is ``step_size * decay_rate**(i /
    decay_steps)``.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.exponential_decay(1.0, decay_steps=10, decay_rate=0.5)(20)
        0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: float, decay_steps: float, decay_rate: float, staircase: bool = False
) -> Schedule:
    """Make a schedule that is divided by ``1 + decay_rate * i / decay_steps``.

    Args:
        step_size: the first step size.
        decay_steps: in how many steps the divisor grows by ``decay_rate``.
        decay_rate: by how much.
        staircase: whether it grows at once at the end of these steps.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.inverse_time_decay(1.0, decay_steps=10, decay_rate=1.0)(10)
        0.5
        >>> float(optimizers.inverse_time_decay(1.0, 10, 1.0, staircase=True)(9))
        1.0
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: float, decay_steps: float, final_step_size: float, power: float = 1.0
) -> Schedule:
    """Make a schedule that falls to ``final_step_size`` in ``decay_steps`` steps, and stays there.

    In between it is a power of what is left of the steps; with the default ``power=1`` a straight
    line.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> schedule = optimizers.polynomial_decay(1.0, decay_steps=10, final_step_size=0.5)
        >>> [float(schedule(i)) for i in (0, 5, 10, 20)]
        [1.0, 0.75, 0.5, 0.5]
    """

    def schedule(i: Any) -> Array:
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Sequence[float], values: Sequence[float]) -> Schedule:
    """One step size up to each boundary, and one after the last.

    Raises:
        ArgumentError: there are not as many values as boundaries and one.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> schedule = optimizers.piecewise_constant([10, 20], [1.0, 0.5, 0.25])
        >>> [float(schedule(i)) for i in (10, 11, 21)]
        [1.0, 0.5, 0.25]
    """
    ends, sizes = jnp.array(boundaries), jnp.array(values)
    if ends.ndim != 1 or sizes.shape != (ends.size + 1,):
        raise errors.ArgumentError(
            f"piecewise_constant takes one value more than boundaries, but got {ends.aval} and "
            f"{sizes.aval}."
        )
    return lambda i: sizes[jnp.sum(i > ends)]


def make_schedule(scalar_or_schedule: float | Schedule) -> Schedule:
    """Return a function of the step: the one given, or the constant.

    Raises:
        ArgumentError: this is neither a function nor a scalar.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.make_schedule(0.1)(5), optimizers.make_schedule(lambda i: 1 / i)(5)
        (0.1, 0.2)
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule):
        raise errors.ArgumentError(
            f"the step size must be a function of the step or a scalar, but got an array of shape "
            f"{jnp.shape(scalar_or_schedule)}."
        )
    return constant(scalar_or_schedule)


def l2_norm(grads: tree.PyTree) -> Array:
    """Return the Euclidean norm of all arrays of a tree together.

    The result is one number; gradients are clipped by it. Squares are added in the arrays' dtypes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.l2_norm({"w": jnp.array([3.0]), "b": jnp.array([4.0])})
        Array(5., dtype=float32)
    """
    return jnp.sqrt(sum((jnp.vdot(x, x) for x in tree.leaves(grads)), start=jnp.asarray(0.0)))


def clip_grads(grad_tree: tree.PyTree, max_norm: ArrayLike) -> tree.PyTree:
    """Scale a tree of arrays down to a norm that it must not exceed.

    Args:
        grad_tree: arrays in any containers.
        max_norm: the Euclidean norm of all of them together, at most.

    Returns:
        The tree as it is where its norm is less, and otherwise multiplied by one number.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> optimizers.clip_grads({"w": jnp.array([3.0]), "b": jnp.array([4.0])}, max_norm=1.0)
        {'b': Array([0.8], dtype=float32), 'w': Array([0.6], dtype=float32)}
    """
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# States as trees of the parameters' structure


@attrs.frozen
class JoinPoint:
    """An optimizer's state for one array, as a leaf of a tree like that of the parameters.

    Attributes:
        subtree: the tree that it keeps: the array first, in the optimizers of this module.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.array([3.0])})
        >>> type(optimizers.unpack_optimizer_state(state)["w"]).__name__
        'JoinPoint'
    """

    subtree: tree.PyTree


def unpack_optimizer_state(opt_state: OptimizerState) -> tree.PyTree:
    """Return a state as a tree like that of the parameters, with a ``JoinPoint`` for each array.

    So it can be stored without the classes of this module but that one.

    Example:
        >>> from tinyjax.example_libraries import optimizers
        >>> state = optimizers.sgd(0.1).init_fn({"x": 1.0})
        >>> optimizers.unpack_optimizer_state(state)["x"].subtree
        (Array(1., dtype=float32, weak_type=True),)
    """
    return opt_state.treedef.unflatten(map(JoinPoint, opt_state.states))


def pack_optimizer_state(marked_pytree: tree.PyTree) -> OptimizerState:
    """Return the state that ``unpack_optimizer_state`` made a tree of.

    Raises:
        ArgumentError: a leaf of the tree is no ``JoinPoint``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import optimizers
        >>> state = optimizers.sgd(0.1).init_fn({"w": jnp.array([3.0])})
        >>> tree_of_points = optimizers.unpack_optimizer_state(state)
        >>> optimizers.pack_optimizer_state(tree_of_points) == state
        True
    """
    points, treedef = tree.flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise errors.ArgumentError(
                "pack_optimizer_state takes what unpack_optimizer_state gives, a tree of "
                f"JoinPoints, but got one with a {errors.type_name(point)}."
            )
    return OptimizerState([point.subtree for point in points], treedef)
