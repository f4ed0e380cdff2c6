"""Start processes on this machine: ``python -m tinyjax.distributed.launch -n 4 script.py``.

In the script, ``tinyjax.distributed.initialize()`` finds the others without arguments. Each line of
output begins with the number of the process that wrote it. When one fails, all end, and the status
is that of the first that failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Final

from tinyjax.distributed.clusters import ADDRESS, INDEX, SIZE

#: The time that processes get to end by themselves when one of them has failed, and the time after
#: a request to end, in seconds.
_BY_THEMSELVES: Final = 5.0
_WHEN_ASKED: Final = 5.0
#: What Gloo prints in each process when it connects it to the others, in these pieces and from
#: several threads at once, so that a line may have the beginnings of two messages, and the next one
#: an end.
_BEGINNING: Final = b"[Gloo] Rank "
_PIECES: Final = re.compile(
    rb"(\[Gloo\] Rank |\d+| is connected to | peer ranks\. "
    rb"|Expected number of connected peer ranks is : )*"
)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _forward(number: int, source: IO[bytes], target: IO[bytes]) -> None:
    unended = 0  # messages of Gloo's
    with source:
        for line in source:
            text = line.rstrip(b"\r\n")
            unended += text.count(_BEGINNING)
            if unended and _PIECES.fullmatch(text):
                unended -= 1
                continue
            target.write(b"[%d] %s\n" % (number, text))  # at once, since others write, too
            target.flush()


class _Processes:
    """A group of processes that were started here."""

    def __init__(self, command: Sequence[str], environments: Sequence[dict[str, str]]) -> None:
        self._ended: SimpleQueue[tuple[int, int]] = SimpleQueue()
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._threads: list[Thread] = []
        for number, environment in enumerate(environments):
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            self._running[number] = process
            self._forward(number, process.stdout, sys.stdout.buffer)
            self._forward(number, process.stderr, sys.stderr.buffer)
            Thread(target=self._wait, args=(number, process), daemon=True).start()

    def _forward(self, number: int, source: IO[bytes] | None, target: IO[bytes]) -> None:
        assert source is not None, "it is a pipe"
        thread = Thread(target=_forward, args=(number, source, target), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _wait(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self._ended.put((number, process.wait()))

    def next_end(self, seconds: float | None = None) -> int | None:
        """Wait for the end of a process, and return its status; None where none has ended."""
        try:
            number, status = self._ended.get(timeout=seconds)
        except Empty:
            return None
        del self._running[number]
        if status:
            how = f"signal {-status}" if status < 0 else f"status {status}"
            sys.stderr.write(f"launch: process {number} ended with {how}\n")
        return status

    def end(self) -> None:
        """End all processes: those that do not end by themselves are terminated, then killed."""
        for seconds, ask in ((_BY_THEMSELVES, "terminate"), (_WHEN_ASKED, "kill"), (None, "")):
            while self._running and self.next_end(seconds) is not None:
                pass
            for process in self._running.values():
                getattr(process, ask)()

    def run(self) -> int:
        """Wait for all processes; return the status of the first that failed, or 0."""
        status = 0
        try:
            while self._running and not status:
                status = self.next_end() or 0
        except KeyboardInterrupt:  # as they were, too
            status = -signal.SIGINT
        finally:
            self.end()
            for thread in self._threads:
                thread.join(_WHEN_ASKED)
        return 128 - status if status < 0 else status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: those of the command line; by default those of this process.

    Returns:
        The status: that of the first process that failed, or 0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tinyjax.distributed.launch",
        description="Starts a group of processes on this machine that compute together.",
    )
    parser.add_argument("-n", "--num-processes", type=int, required=True)
    parser.add_argument(
        "--devices-per-process",
        type=int,
        help="how many devices each has (by default as the setting num_cpu_devices says)",
    )
    parser.add_argument("--port", type=int, help="where process 0 listens (by default a free port)")
    parser.add_argument("-m", dest="module", action="store_true", help="the script is a module")
    parser.add_argument("script", help="what each process runs; it calls distributed.initialize()")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    options = parser.parse_args(arguments)
    if options.num_processes < 1:
        parser.error("--num-processes is 1 or more")
    common = {
        ADDRESS: f"127.0.0.1:{options.port or _free_port()}",
        SIZE: str(options.num_processes),
        "PYTHONUNBUFFERED": "1",
    }
    if options.devices_per_process is not None:
        common["TINYJAX_NUM_CPU_DEVICES"] = str(options.devices_per_process)
    what = ("-m", options.script) if options.module else (options.script,)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        launched = _Processes(
            [sys.executable, *what, *options.arguments],
            [{**os.environ, **common, INDEX: str(i)} for i in range(options.num_processes)],
        )
        return launched.run()
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
