"""A forked process evaluates, or says that it cannot: it never waits for threads of XLA's."""

import os
import subprocess
import sys

SCRIPT = """
import os, multiprocessing, signal, time
import numpy as np
import tinyjax
from tinyjax import export, lax, numpy as jnp, sharding

tinyjax.config.update("num_cpu_devices", 2)
tinyjax.config.update("tier", "first")
x = np.ones((300, 300))
total = lambda x: jnp.sum(x @ x)
compiled, default = tinyjax.jit(total, tier="compiled"), tinyjax.jit(total)
small, held = tinyjax.jit(lambda x: 2 * x), compiled.lower(x).compile()
exported = tinyjax.jit(export.export(compiled)(x).call, tier="compiled")
gradient = tinyjax.jit(tinyjax.grad(total), tier="compiled")
calling = tinyjax.jit(
    lambda x: tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((3,), "float32"), x),
    tier="compiled",
)
steps = lambda n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] + 2.0), (0, 0.0))[1]
mesh = sharding.Mesh(np.array(tinyjax.devices()[:2]), ("i",))
here = tinyjax.device_put(jnp.ones(4), sharding.NamedSharding(mesh, sharding.PartitionSpec("i")))
summed = tinyjax.jit(jnp.sum)
array, product = jnp.asarray(x), tinyjax.jit(lambda x: x @ x, tier="compiled")(x)
donating = tinyjax.jit(lambda x: x + 1, donate_argnums=0)
for f in (compiled, default, held, exported, gradient):
    f(x), f(x), f(array)
for _ in range(3000):
    small(1.0)
calling(np.ones(3, "float32")), summed(here), donating(jnp.ones(3))
long = tinyjax.jit(lambda x: lax.fori_loop(0, 300, lambda i, c: c @ c * 1e-3, x), tier="compiled")
product.block_until_ready()
RIGHT = {
    "default": (lambda: default(x), 2.7e7),
    "of a device array": (lambda: default(array), 2.7e7),
    "short": (lambda: small(1.0), 2.0),
    "new": (lambda: tinyjax.jit(lambda x: jnp.sum(x) + 1)(x), 90001.0),
    "grad": (lambda: tinyjax.grad(default)(x)[0, 0], 600.0),
    "vmap": (lambda: tinyjax.vmap(default)(x[None])[0], 2.7e7),
    "many steps": (lambda: tinyjax.jit(steps)(20_000), 40_000.0),
    "scan": (lambda: lax.scan(lambda c, _: (c + 1, None), 0.0, None, 300)[0], 300.0),
    "eager": (lambda: jnp.sum(array @ array), 2.7e7),
    "read": (lambda: np.asarray(product)[0, 0], 300.0),
    "device_put": (lambda: tinyjax.device_put(x)[0, 0], 1.0),
    "donate": (lambda: donating(jnp.ones(3))[0], 2.0),
}
REFUSED = {
    "compiled": lambda: compiled(x),
    "compiled, of a device array": lambda: compiled(array),
    "held": lambda: held(x),
    "exported": lambda: exported(x),
    "gradient": lambda: gradient(x),
    "callback": lambda: calling(np.ones(3, "float32")),
    "new compiled": lambda: tinyjax.jit(lambda x: x + 3, tier="compiled")(x),
    "divided": lambda: summed(here),
    "vmap of compiled": lambda: tinyjax.vmap(compiled)(x[None]),
    "under way": lambda: np.asarray(unready),
    "wait": lambda: unready.block_until_ready(),
}


def child(name):
    try:
        if name in REFUSED:
            print(name, "gave", REFUSED[name](), flush=True)
        else:
            call, right = RIGHT[name]
            if float(call()) != right:
                print(name, float(call()), flush=True)
    except tinyjax.errors.ForkError as error:
        if name in RIGHT:
            print(name, error, flush=True)
    except BaseException as error:
        print(name, type(error), error, flush=True)


unready = long(array)
pids = {}
for name in [*RIGHT, *REFUSED]:
    pid = os.fork()
    if not pid:
        child(name)
        os._exit(0)
    pids[pid] = name
process = multiprocessing.get_context("fork").Process(target=child, args=("compiled",))
process.start()
pids[process.pid] = "multiprocessing"
ending = time.monotonic() + 40
while pids and time.monotonic() < ending:
    for pid in [pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]]:
        del pids[pid]
    time.sleep(0.01)
for pid, name in pids.items():
    print(name, "hangs", flush=True)
    os.kill(pid, signal.SIGKILL)
os._exit(0)
"""


def test_no_forked_process_waits_for_threads_that_it_lacks() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr, run.stdout) == (0, "", "")
