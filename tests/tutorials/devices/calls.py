"""Python functions that programs on several devices call."""

from typing import Any

import numpy as np

from tutorials.devices import grid, submodule


def _results(jax: Any, per_device: bool) -> Any:
    """Return the results and arguments of functions, called from whole arrays or per device."""
    mesh = grid(jax, (4,), ("x",))
    rows = jax.sharding.PartitionSpec("x")
    x = np.arange(8, dtype=np.float32)
    io_callback = submodule(jax, "experimental").io_callback
    seen: list[Any] = []

    def double(part: Any) -> Any:
        seen.append(np.array(part))
        return 2 * np.asarray(part)

    def look(part: Any) -> None:
        seen.append(np.array(part))

    def debugged(part: Any) -> Any:
        jax.debug.callback(look, part)
        return jax.lax.cond(part.sum() > 5, lambda y: y + 1, lambda y: y - 1, part)

    def repeated(part: Any) -> Any:
        _, found = jax.lax.scan(lambda y, k: (y, jax.pure_callback(double, y, k * y)), part, part)
        return found.sum(0)

    programs = [
        lambda part: jax.pure_callback(double, part, part) + 1,
        lambda part: io_callback(double, part, part) + 1,
        lambda part: io_callback(double, part, part, ordered=True) + 1,
        debugged,
        repeated,
    ]
    found = []
    for program in programs:
        if per_device:
            program = jax.shard_map(program, mesh=mesh, in_specs=rows, out_specs=rows)
        call, given = jax.jit(program), jax.device_put(x, jax.sharding.NamedSharding(mesh, rows))
        outs = [np.asarray(call(given)) for _ in range(2)]
        jax.effects_barrier()
        found.append((outs, sorted(part.tolist() for part in seen)))
        seen.clear()
    return found


def calls_with_whole_arrays(jax: Any) -> Any:
    return _results(jax, False)


def calls_for_each_device(jax: Any) -> Any:
    return _results(jax, True)
