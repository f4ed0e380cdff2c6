"""A program of several processes in which one does what it should not: ``WHAT VICTIM``."""

import os
import signal
import sys

import numpy as np

import tinyjax
from tinyjax import NamedSharding, P


def main(what: str, victim: str) -> None:
    tinyjax.distributed.initialize(
        initialization_timeout=60,
        heartbeat_timeout_seconds=10 if what == "stop" else 100,
        shutdown_timeout_seconds=10,
    )
    mesh = tinyjax.make_mesh((tinyjax.device_count(),), ("x",))
    x = tinyjax.device_put(np.ones(8, np.float32), NamedSharding(mesh, P("x")))
    step = tinyjax.jit(lambda x: x / x.sum())
    x = step(x).block_until_ready()
    print("ready", flush=True)
    if tinyjax.process_index() == int(victim):
        match what:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "fail":
                raise ValueError("a mistake")
            case "leave":
                sys.exit(5)
            case _:
                tinyjax.distributed.shutdown()
    else:
        step(x).block_until_ready()
    print("not reached" if what != "shutdown" else "alone", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
