"""Rotations in space as unit quaternions, and interpolation between them, by SciPy's names.

A quaternion is written ``(x, y, z, w)``, the scalar part last. Everything is batched over leading
axes, and differentiable, at no rotation at all as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, Self, TypeAlias

import attrs

import tinyjax.numpy as jnp
from tinyjax import dtypes, random, tree
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy.promotion import inexact, strong
from tinyjax.scipy.interpolate.piecewise import ascending

lazy.answer_for(__name__, "Rotation Slerp")

#: Numbers with any number of axes.
Numbers: TypeAlias = ArrayLike | Sequence[float] | Sequence[Sequence[float]]

#: Below this square of an angle, quotients of it and of its sine are power series.
_SMALL: Final = 1e-6


@tree.register_dataclass
@attrs.frozen(eq=False)
class Rotation:
    """One rotation in space, or an array of them: a pytree of one leaf.

    Rotations are made by the class methods, composed by ``*`` and inverted by ``inv``; ``p * q``
    rotates by ``q`` first.

    Attributes:
        quat: unit quaternions ``(x, y, z, w)``, of shape ``(4,)`` or ``(n, 4)``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
        >>> quarter = transform.Rotation.from_euler("z", 90, degrees=True)
        >>> quarter.apply(jnp.array([1.0, 0.0, 0.0])).round(6)
        Array([0., 1., 0.], dtype=float32)
        >>> (quarter * quarter).magnitude()
        Array(3.1415927, dtype=float32)
    """

    quat: Array

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Self:
        """Join arrays of rotations to one.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> len(Rotation.concatenate([Rotation.identity(2), Rotation.identity(3)]))
            5
        """
        return cls(jnp.concatenate([rotation.quat for rotation in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Numbers, degrees: bool = False) -> Self:
        """Make a rotation of rotations about axes of the coordinates, one after another.

        Args:
            seq: one to three letters: ``"xyz"`` about axes that stay, ``"XYZ"`` about axes that
                rotate along.
            angles: an angle for each letter along the last axis; of one letter, a number will do.
            degrees: whether they are degrees, and not radians.

        Raises:
            ArgumentError: there is no such sequence.
            ShapeError: there are not as many angles.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> Rotation.from_euler("xz", [90, 90], degrees=True).as_matrix().round(3)
            Array([[0., 0., 1.],
                   [1., 0., 0.],
                   [0., 1., 0.]], dtype=float32)
        """
        axes, intrinsic = _axes(seq, (1, 2, 3))
        turns = _real("from_euler", angles)
        if turns.ndim == 0:
            turns = turns[None]
        if turns.shape[-1] != len(axes):
            raise ShapeError.got(
                f"from_euler: '{seq}' takes {len(axes)} angles along the last axis", turns
            )
        if degrees:
            turns = jnp.deg2rad(turns)
        quat = _about(axes[0], turns[..., 0])
        for place, axis in enumerate(axes[1:], 1):
            other = _about(axis, turns[..., place])
            quat = _product(quat, other) if intrinsic else _product(other, quat)
        return cls(quat)

    @classmethod
    def from_matrix(cls, matrix: Numbers) -> Self:
        """Make rotations of their matrices, of shape ``(..., 3, 3)``.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> quarter = jnp.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
            >>> transform.Rotation.from_matrix(quarter).as_rotvec(degrees=True).round(3)
            Array([ 0.,  0., 90.], dtype=float32)
        """
        m = _real("from_matrix", matrix)
        if m.shape[-2:] != (3, 3):
            raise ShapeError.got("from_matrix takes matrices of shape (..., 3, 3)", m)
        a, b, c = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
        # Four times the squares of the components, and their products: the matrix 4 q q^T. Its
        # column with the largest diagonal is q times a number that is not small.
        # (S. W. Shepperd, Journal of Guidance and Control 1(3), 1978.)
        xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
        xw, yw, zw = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
        columns = [
            [1 + a - b - c, xy, xz, xw],
            [xy, 1 - a + b - c, yz, yw],
            [xz, yz, 1 - a - b + c, zw],
            [xw, yw, zw, 1 + a + b + c],
        ]
        outer = jnp.stack([jnp.stack(column, -1) for column in columns], -1)
        largest = jnp.argmax(jnp.stack([a, b, c, a + b + c], -1), -1)
        chosen = jnp.take_along_axis(outer, largest[..., None, None], -1)[..., 0]
        return cls(_normalized(chosen))

    @classmethod
    def from_mrp(cls, mrp: Numbers) -> Self:
        """Make rotations of modified Rodrigues parameters, the axes times ``tan(angle / 4)``.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> half = transform.Rotation.from_mrp(jnp.array([0.0, 0.0, 1.0]))
            >>> half.apply(jnp.array([1.0, 0.0, 0.0])).round(3)
            Array([-1.,  0.,  0.], dtype=float32)
        """
        p = _vectors("from_mrp", mrp, 3)
        square = jnp.sum(p * p, -1, keepdims=True)
        return cls(jnp.concatenate([2 * p, 1 - square], -1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: Numbers) -> Self:
        """Make rotations of quaternions ``(x, y, z, w)``, which are divided by their norms.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> transform.Rotation.from_quat(jnp.array([0.0, 0.0, 2.0, 2.0])).as_quat().round(3)
            Array([0.   , 0.   , 0.707, 0.707], dtype=float32)
        """
        return cls(_normalized(_vectors("from_quat", quat, 4)))

    @classmethod
    def from_rotvec(cls, rotvec: Numbers, degrees: bool = False) -> Self:
        """Make rotations of their axes times their angles.

        Args:
            rotvec: of shape ``(..., 3)``.
            degrees: whether the angles are degrees, and not radians.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> quarter = transform.Rotation.from_rotvec(jnp.array([0.0, 0.0, 90.0]), degrees=True)
            >>> quarter.apply(jnp.array([1.0, 0.0, 0.0])).round(3)
            Array([0., 1., 0.], dtype=float32)
        """
        v = _vectors("from_rotvec", rotvec, 3)
        if degrees:
            v = jnp.deg2rad(v)
        square = jnp.sum(v * v, -1, keepdims=True)
        small = square < _SMALL
        angle = jnp.sqrt(jnp.where(small, 1.0, square))
        scale = jnp.where(small, 0.5 - square / 48 + square**2 / 3840, jnp.sin(angle / 2) / angle)
        scalar = jnp.where(small, 1 - square / 8 + square**2 / 384, jnp.cos(angle / 2))
        return cls(jnp.concatenate([scale * v, scalar], -1))

    @classmethod
    def identity(cls, num: int | None = None, dtype: dtypes.DTypeLike = float) -> Self:
        """Make rotations that rotate nothing: one, or an array of so many.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> transform.Rotation.identity().as_quat(), len(transform.Rotation.identity(3))
            (Array([0., 0., 0., 1.], dtype=float32), 3)
        """
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: ArrayLike, num: int | None = None) -> Self:
        """Draw rotations uniformly: one, or an array of so many.

        Example:
            >>> import tinyjax
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> Rotation.random(tinyjax.random.key(0), 4).as_matrix().shape
            (4, 3, 3)
        """
        shape = (4,) if num is None else (num, 4)
        return cls(_normalized(random.normal(random_key, shape)))

    @property
    def single(self) -> bool:
        """The flag for one rotation, and not an array of them."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise ArgumentError("a single Rotation has no length.")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> Rotation:
        if self.single:
            raise ArgumentError("a single Rotation cannot be indexed.")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Rotation) -> Rotation:
        return Rotation(_normalized(_product(self.quat, other.quat)))

    def apply(self, vectors: Numbers, inverse: bool = False) -> Array:
        """Rotate vectors.

        Args:
            vectors: of shape ``(..., 3)``; leading axes broadcast with those of the rotations.
            inverse: whether to rotate back.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> quarter = transform.Rotation.from_euler("z", 90, degrees=True)
            >>> quarter.apply(jnp.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).round(3)
            Array([[0., 1., 0.],
                   [0., 0., 1.]], dtype=float32)
        """
        v = _vectors("apply", vectors, 3)
        return jnp.einsum(
            "...ji,...j->...i" if inverse else "...ij,...j->...i", self.as_matrix(), v
        )

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Return the angles of rotations about three axes; see ``from_euler``.

        Of the middle angle's extremes, where only the sum or the difference of the others is known,
        the third angle is zero.

        Args:
            seq: three letters.
            degrees: whether to return degrees, and not radians.

        Returns:
            Shape ``(..., 3)``.

        Raises:
            ArgumentError: there is no such sequence.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> turned = Rotation.from_euler("xyz", [10, 20, 30], degrees=True)
            >>> turned.as_euler("xyz", degrees=True).round(2)
            Array([10., 20., 30.], dtype=float32)
        """
        # E. Bernardes and S. Viollet, PLOS ONE 17(11), 2022.
        axes, intrinsic = _axes(seq, (3,))
        i, j, k = axes[::-1] if intrinsic else axes
        symmetric = i == k
        if symmetric:
            k = 3 - i - j
        sign = (i - j) * (j - k) * (k - i) // 2
        x = [self.quat[..., n] for n in range(4)]
        if symmetric:
            a, b, c, d = x[3], x[i], x[j], x[k] * sign
        else:
            a, b, c, d = x[3] - x[j], x[i] + x[k] * sign, x[j] + x[3], x[k] * sign - x[i]
        middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
        none, half_turn = jnp.abs(middle) <= _LOCKED, jnp.abs(middle - jnp.pi) <= _LOCKED
        turned = 2 * half_difference if intrinsic else -2 * half_difference
        alone = jnp.where(none, 2 * half_sum, turned)
        locked = none | half_turn
        first, third = half_sum - half_difference, half_sum + half_difference
        if intrinsic:
            first, third = third, first
        first, third = jnp.where(locked, alone, first), jnp.where(locked, 0.0, third)
        if not symmetric:
            middle = middle - jnp.pi / 2
            first, third = (first * sign, third) if intrinsic else (first, third * sign)
        angles = jnp.stack([first, middle, third], -1)
        angles = (angles + jnp.pi) % (2 * jnp.pi) - jnp.pi
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Array:
        """Return the matrices, of shape ``(..., 3, 3)``.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> transform.Rotation.from_euler("z", 90, degrees=True).as_matrix().round(3)
            Array([[ 0., -1.,  0.],
                   [ 1.,  0.,  0.],
                   [ 0.,  0.,  1.]], dtype=float32)
        """
        x, y, z, w = (self.quat[..., n] for n in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    def as_mrp(self) -> Array:
        """Return modified Rodrigues parameters, of norms up to 1; see ``from_mrp``.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> Rotation.from_euler("z", 90, degrees=True).as_mrp().round(3)
            Array([0.   , 0.   , 0.414], dtype=float32)
        """
        q = _upward(self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Return axes times angles from 0 to half a turn, of shape ``(..., 3)``.

        Args:
            degrees: whether the angles are degrees, and not radians.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> Rotation.from_euler("x", 270, degrees=True).as_rotvec(degrees=True).round(3)
            Array([-90.,  -0.,  -0.], dtype=float32)
        """
        q = _upward(self.quat)
        v, w = q[..., :3], q[..., 3:]
        square = jnp.sum(v * v, -1, keepdims=True)
        small = square < _SMALL
        sine = jnp.sqrt(jnp.where(small, 1.0, square))
        series = 2 + square / 3 + 3 * square**2 / 20
        rotvec = jnp.where(small, series, 2 * jnp.arctan2(sine, w) / sine) * v
        return jnp.rad2deg(rotvec) if degrees else rotvec

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Return the quaternions.

        Args:
            canonical: of a quaternion and its negative, which are one rotation, return the one
                whose last component that is not zero is positive: ``w``, or else of ``x``, ``y``
                and ``z`` the first.
            scalar_first: whether to write ``(w, x, y, z)``.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> Rotation.from_euler("z", 90, degrees=True).as_quat().round(3)
            Array([0.   , 0.   , 0.707, 0.707], dtype=float32)
        """
        quat = self.quat
        if canonical:
            negative = jnp.zeros(quat.shape[:-1], bool)
            for place in (2, 1, 0, 3):
                part = quat[..., place]
                negative = (part < 0) | ((part == 0) & negative)
            quat = jnp.where(negative[..., None], -quat, quat)
        return jnp.roll(quat, 1, -1) if scalar_first else quat

    def inv(self) -> Rotation:
        """Return the inverse rotations.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> r = Rotation.from_euler("z", 90, degrees=True)
            >>> float((r * r.inv()).magnitude().round(3))
            0.0
        """
        return Rotation(self.quat * jnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Array:
        """Return the angles, from 0 to half a turn.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> round(float(Rotation.from_euler("z", -1.5).magnitude()), 4)
            1.5
        """
        return 2 * jnp.arctan2(jnp.linalg.norm(self.quat[..., :3], axis=-1), abs(self.quat[..., 3]))

    def mean(self, weights: Numbers | None = None) -> Rotation:
        """Return the mean: what has the least sum of squared distances, of rotation matrices.

        Args:
            weights: one for each rotation.

        Raises:
            ShapeError: there are not as many.

        Example:
            >>> from tinyjax.scipy.spatial.transform import Rotation
            >>> both = Rotation.from_euler("z", [[0], [60]], degrees=True)
            >>> both.mean().as_rotvec(degrees=True).round(2)
            Array([ 0.,  0., 30.], dtype=float32)
        """
        # F. L. Markley et al., Journal of Guidance, Control, and Dynamics 30(4), 2007.
        quat = self.quat
        each = jnp.ones(len(self), quat.dtype) if weights is None else _real("mean", weights)
        if each.shape != (len(self),):
            raise ShapeError.got(f"mean takes {len(self)} weights", each)
        return Rotation(jnp.linalg.eigh((each[:, None] * quat).T @ quat)[1][:, -1])


@tree.register_dataclass
@attrs.frozen(eq=False)
class Slerp:
    """Interpolate between rotations at constant speed; made by ``Slerp.init``.

    Attributes:
        times: when the rotations are reached, shape ``(n,)``.
        timedelta: the differences of these.
        rotations: all rotations but the last.
        rotvecs: the rotation from each to the next, as axis times angle.

    Example:
        >>> from tinyjax.scipy.spatial.transform import Rotation, Slerp
        >>> turns = Rotation.from_euler("z", [[0.0], [90.0]], degrees=True)
        >>> Slerp.init([0.0, 1.0], turns)(0.5).as_rotvec(degrees=True).round(3)
        Array([ 0.,  0., 45.], dtype=float32)
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: Numbers, rotations: Rotation) -> Self:
        """Take rotations and when they are reached, ascending.

        Raises:
            ArgumentError: these are no rotations, or the times do not ascend.
            ShapeError: there are fewer than two rotations, or not as many times.

        Example:
            >>> import tinyjax.numpy as jnp, tinyjax.scipy.spatial.transform as transform
            >>> ends = transform.Rotation.from_euler("z", jnp.array([[0.0], [1.0]]))
            >>> transform.Slerp.init(jnp.array([0.0, 10.0]), ends)(5.0).as_rotvec().round(3)
            Array([0. , 0. , 0.5], dtype=float32)
        """
        if not isinstance(rotations, Rotation):
            raise ArgumentError(f"Slerp.init takes a Rotation, but got {shortened(rotations)}.")
        if rotations.single or len(rotations) < 2:
            raise ShapeError("Slerp.init takes two rotations at least.")
        at = jnp.asarray(times, rotations.quat.dtype)
        if at.shape != (len(rotations),):
            raise ShapeError.got(
                f"Slerp.init takes a time for each of {len(rotations)} rotations", at
            )
        at, starts = ascending("Slerp", at), rotations[:-1]
        return cls(at, jnp.diff(at), starts, (starts.inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Numbers) -> Rotation:
        """Return the rotations at times: one of a number, an array of a vector.

        Raises:
            ShapeError: times have more than one axis.
        """
        at = jnp.asarray(times, self.times.dtype)
        if at.ndim > 1:
            raise ShapeError.got("Slerp takes a number or a vector of times", at)
        place = jnp.clip(jnp.searchsorted(self.times, at) - 1, 0, len(self.timedelta) - 1)
        share = (at - self.times[place]) / self.timedelta[place]
        return self.rotations[place] * Rotation.from_rotvec(self.rotvecs[place] * share[..., None])


#: How near to their extremes middle angles leave only the sum of the others, or the difference.
_LOCKED: Final = 1e-7


def _axes(seq: str, lengths: Sequence[int]) -> tuple[list[int], bool]:
    """Return the axes of a sequence of letters, and whether they rotate along."""
    upper = re.fullmatch("[XYZ]+", seq) is not None
    lower = seq.lower()
    if (
        len(seq) not in lengths
        or not (upper or re.fullmatch("[xyz]+", seq))
        or any(a == b for a, b in pairwise(lower))
    ):
        most = "three" if lengths == (3,) else "one to three"
        raise ArgumentError(
            f"'{seq}' is no sequence of axes: give {most} letters of 'xyz' or of 'XYZ', of which "
            "no two neighbours are equal."
        )
    return ["xyz".index(letter) for letter in lower], upper


def _real(name: str, x: Numbers) -> Array:
    array = strong(inexact(x if isinstance(x, Array) else jnp.asarray(x), name))
    if dtypes.is_complex(array.dtype):
        raise ArgumentError(f"{name} takes real numbers, but got {array.aval}.")
    return array


def _vectors(name: str, x: Numbers, size: int) -> Array:
    array = _real(name, x)
    if array.shape[-1:] != (size,):
        raise ShapeError.got(f"{name} takes {size} numbers along the last axis", array)
    return array


def _about(axis: int, angle: Array) -> Array:
    """The quaternions of rotations about an axis of the coordinates."""
    parts = [jnp.zeros_like(angle)] * 3
    parts[axis] = jnp.sin(angle / 2)
    return jnp.stack([*parts, jnp.cos(angle / 2)], -1)


def _product(p: Array, q: Array) -> Array:
    """The product of quaternions."""
    v, w = p[..., :3], p[..., 3:]
    u, s = q[..., :3], q[..., 3:]
    scalar = w * s - jnp.sum(v * u, -1, keepdims=True)
    return jnp.concatenate([w * u + s * v + jnp.cross(v, u), scalar], -1)


def _normalized(quat: Array) -> Array:
    return quat / jnp.linalg.norm(quat, axis=-1, keepdims=True)


def _upward(quat: Array) -> Array:
    """Of a quaternion and its negative the one whose scalar part is not negative."""
    return jnp.where(quat[..., 3:] < 0, -quat, quat)
