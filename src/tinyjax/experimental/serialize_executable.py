"""Compiled programs as bytes, which another process loads without compiling them.

The bytes hold an exported program (``tinyjax.export``), and the machine code that XLA made of it.
Machine code cannot be verified. So it is sealed (HMAC with SHA-256), and loaded only where the seal
is right: with a key of the caller's, or with a secret that each user has beside the cache on disk.
Without the right seal, or for another jaxlib or processor, the program is verified and compiled.
"""

from __future__ import annotations

import hmac
import json
import struct
from collections.abc import Sequence
from typing import Any, Final

import attrs

from tinyjax import errors, export, tree
from tinyjax._base import lazy
from tinyjax._extensions.parallel import meshes
from tinyjax._extensions.parallel.sharding import Sharding, SingleDeviceSharding, on_first
from tinyjax.core import jit, xla
from tinyjax.core.devices import PLATFORM, Device, devices_on
from tinyjax.core.jit import stages
from tinyjax.core.values import avals as av
from tinyjax.experimental import machine_code
from tinyjax.export.exported import exported_of

lazy.answer_for(__name__, "deserialize_and_load serialize")

# magic, fingerprint of the machine code, lengths of the flags and of the program
_FRAME: Final = struct.Struct("<8s32sQQ")
_MAGIC: Final = b"TINYJAXM"
_SEAL_BYTES: Final = 32


def serialize(
    compiled: stages.Compiled, *, key: bytes | None = None
) -> tuple[bytes, tree.PyTreeDef, tree.PyTreeDef]:
    """Write a compiled program, for ``deserialize_and_load``.

    A program for several devices, or for another than the first, is written without its machine
    code, and compiled where it is loaded.

    Args:
        compiled: what ``jit(f).lower(...).compile()`` returned.
        key: the secret that seals the machine code, such as ``secrets.token_bytes(32)``; by default
            a secret of the user's, kept in a file that nobody else can read.

    Returns:
        The bytes, and the structures of ``(args, kwargs)`` and of the result.

    Raises:
        ArgumentError: this is no compiled program.
        ExportError: the program cannot be exported: it calls Python functions, uses references, or
            closes over a traced value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import serialize_executable as se
        >>> compiled = tinyjax.jit(lambda x: {"twice": 2 * x}).lower(jnp.ones(3)).compile()
        >>> payload, in_tree, out_tree = se.serialize(compiled, key=b"a secret of 32 bytes or more")

        Another process, that has these and the key:

        >>> loaded = se.deserialize_and_load(
        ...     payload, in_tree, out_tree, key=b"a secret of 32 bytes or more"
        ... )
        >>> loaded(jnp.arange(3.0))
        {'twice': Array([0., 2., 4.], dtype=float32)}
    """
    if not isinstance(compiled, stages.Compiled):
        raise errors.ArgumentError(
            "serialize takes what jit(f).lower(...).compile() returned, but got "
            f"{errors.described(compiled)}."
        )
    lowered = compiled.lowered
    # the caller keeps the structures, which may hold classes that are not registered for export
    exported = attrs.evolve(
        exported_of(lambda: lowered, (PLATFORM,), ()),
        in_tree=tree.structure((("",) * lowered.in_tree.num_leaves, {})),
        out_tree=tree.structure(("",) * lowered.out_tree.num_leaves),
    )
    secret = xla.own_secret(make=True) if key is None else key
    fingerprint, code = bytes(_SEAL_BYTES), b""
    compilation = lowered.compilation
    if secret and compilation.placement is None:
        fingerprint = machine_code.fingerprint(compilation, exported.mlir_module())
        code = machine_code.code_of(compilation)
    flags, program = json.dumps(compilation.flags).encode(), exported.serialize()
    head = _FRAME.pack(_MAGIC, fingerprint, len(flags), len(program))
    body = b"".join([head, flags, program, code])
    return body + hmac.digest(secret or b"", body, "sha256"), lowered.in_tree, lowered.out_tree


def deserialize_and_load(
    serialized: bytes | bytearray,
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    backend: str | None = None,
    execution_devices: Sequence[Device] | None = None,
    *,
    key: bytes | None = None,
) -> stages.Compiled:
    """Load a program serialized by ``serialize``.

    Its machine code is used if it was sealed with the key, by the same jaxlib, for this processor
    and with these settings. Else the exported program in it is verified, as by
    ``export.deserialize``, and compiled; bytes of somebody else can do no more than such a program.

    Args:
        serialized: the bytes.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        backend: the platform; "cpu", or None for that.
        execution_devices: the devices to run on, as many as it was compiled for; by default the
            first.
        key: the secret that it must be sealed with; by default a secret of the user's, without
            which the program is compiled.

    Raises:
        ExportError: these bytes are none, or damaged, or were not sealed with the key given.
        ArgumentError: the structures do not have as many leaves as the program has arguments and
            results, or there are too few devices.
        PlatformError: the platform is another.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental import serialize_executable
        >>> compiled = tinyjax.jit(lambda x: 2 * x).lower(jnp.ones(2)).compile()
        >>> serialized, in_tree, out_tree = serialize_executable.serialize(
        ...     compiled, key=b"a secret of 32 bytes or more"
        ... )
        >>> loaded = serialize_executable.deserialize_and_load(
        ...     serialized, in_tree, out_tree, key=b"a secret of 32 bytes or more"
        ... )
        >>> loaded(jnp.ones(2))
        Array([2., 2.], dtype=float32)
    """
    if backend not in (None, PLATFORM):
        raise errors.PlatformError(f"programs are loaded for 'cpu', not for {backend!r:.100}.")
    if not isinstance(serialized, bytes | bytearray):
        raise errors.ArgumentError(
            f"deserialize_and_load takes bytes, but got {errors.described(serialized)}."
        )
    body, seal = bytes(serialized[:-_SEAL_BYTES]), serialized[-_SEAL_BYTES:]
    if not body.startswith(_MAGIC) or len(body) < _FRAME.size:
        raise errors.ExportError(
            "these bytes are no compiled program. Give what serialize(compiled) returned."
        )
    secret = xla.own_secret() if key is None else key
    expected = hmac.digest(secret, body, "sha256") if secret else b""
    is_ours = hmac.compare_digest(expected, seal)
    if key is not None and not is_ours:
        raise errors.ExportError(
            "this compiled program was not sealed with this key, or was changed since."
        )
    _, fingerprint, *sizes = _FRAME.unpack_from(body)
    first, second = _FRAME.size + sizes[0], _FRAME.size + sum(sizes)
    exported = export.deserialize(body[first:second])
    flags = json.loads(body[_FRAME.size : first]) if is_ours else []
    lowered = _lowered(exported, in_tree, out_tree, execution_devices)
    compilation = attrs.evolve(
        lowered.compilation, name=exported.fun_name, flags=tuple([(n, v) for n, v in flags])
    )
    lowered = attrs.evolve(lowered, compilation=compilation)
    executable = None
    if is_ours and compilation.placement is None and len(lowered.consts) == len(exported.consts):
        text = exported.mlir_module()
        if machine_code.fingerprint(compilation, text) == fingerprint:
            executable = machine_code.executable_of(compilation, text, body[second:])
    return stages.Compiled(lowered, executable)


def _lowered(
    exported: export.Exported,
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    devices: Sequence[Device] | None,
) -> stages.Lowered:
    """Lower a call of an exported program on these devices, with these structures."""
    name, count = exported.fun_name, exported.nr_devices
    if exported.variables or exported.platforms != (PLATFORM,):
        raise errors.ExportError(f"'{name}' is an exported program that serialize has not written.")
    for what, pytree, own in (
        ("in_tree", in_tree, exported.in_tree),
        ("out_tree", out_tree, exported.out_tree),
    ):
        if pytree.num_leaves != own.num_leaves:
            raise errors.ArgumentError(
                f"{what} has {pytree.num_leaves} leaves, but '{name}' has {own.num_leaves}. Give "
                "what serialize returned with the bytes."
            )
    chosen = [*(devices_on(PLATFORM) if devices is None else devices)][:count]
    if len(chosen) < count:
        raise errors.ArgumentError(f"'{name}' runs on {count} devices, but got {len(chosen)}.")
    lies: Sequence[Sharding | None] = exported.in_shardings_jax(meshes.Mesh(chosen, ("devices",)))
    if devices is not None and count == 1 and chosen[0] != on_first().device:
        lies = [SingleDeviceSharding(chosen[0])] * len(lies)
    args: list[Any] = [
        av.ShapeDtypeStruct(aval.shape, aval.dtype, aval.weak_type, sharding=sharding)
        for aval, sharding in zip(exported.in_avals, lies, strict=True)
    ]
    lowered = jit.jit(exported.call, donate_argnums=exported.donated).lower(*args)
    return attrs.evolve(lowered, in_tree=in_tree, out_tree=out_tree)
