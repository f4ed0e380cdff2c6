"""A process as a member of a group: it watches the others, and all leave together.

The first process has a connection to each of the others, and these have one to the first. A process
says when it is done and when it has failed, and the first tells the others. A connection that ends
before all are done is that of a process that is gone.

XLA ends a process as soon as its service is gone, with the first process. So the first is the last
to end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Lock, Thread
from typing import Final

from tinyjax import errors
from tinyjax.distributed import gathering
from tinyjax.distributed.xla import connecting

#: How long the first process waits for the end of others, in seconds.
_ENDING: Final = 5.0


class Membership:
    """A process in a group.

    Attributes:
        process_id: the number of the process.
        size: the number of processes.
        connection: the connection to XLA's service, once there is one.
    """

    def __init__(
        self, process_id: int, size: int, lines: Mapping[int, gathering.JsonConnection]
    ) -> None:
        """Begin to watch the others.

        Args:
            process_id: the number of the process.
            size: the number of processes.
            lines: the connections, by the numbers of the processes at the other ends.
        """
        self.process_id: int = process_id
        self.size: int = size
        self._lines: Mapping[int, gathering.JsonConnection] = lines
        self.connection: connecting.Connection | None = None
        self._failed: bool = False
        self._finished: set[int] = set()
        self._lock: Lock = Lock()
        self._all_done: Event = Event()
        if lines:
            watching = Thread(target=self._watch, name="tinyjax-processes", daemon=True)
            self._watching: Thread = watching
            watching.start()

    # Watching

    def _watch(self) -> None:
        """Receive the messages of the others until all connections have ended."""
        why = ""
        with DefaultSelector() as waiting:
            for number, line in self._lines.items():
                waiting.register(line.socket, EVENT_READ, number)
            while waiting.get_map():
                ready = waiting.select(_ENDING if why else None)
                if why and not ready:
                    break
                for key, _ in ready:
                    for message in self._lines[key.data].messages():
                        reason = self._heard(key.data, message)
                        if message is None:
                            waiting.unregister(key.fileobj)
                        if reason and not why:
                            why = reason
                            self._tell({"lost": why})
                if why and self.process_id:
                    break
        if why and not self._failed:  # else it is about to end by itself, with its own message
            self._end(
                f"{why}. Process {self.process_id} ends too: a program over several processes "
                "cannot go on without one of them."
            )

    def _heard(self, number: int, message: gathering.Message | None) -> str:
        """Take a message, or None where the connection has ended; say why all are to end, if so."""
        match message:
            case None if not self._all_done.is_set():
                return f"process {number} of {self.size} has ended without distributed.shutdown()"
            case {"lost": str(why)}:
                return why
            case {"done": True} if self.process_id == 0:
                self._is_done(number)
            case {"done": True}:
                self._all_done.set()
            case _:
                pass
        return ""

    def _is_done(self, number: int) -> None:
        with self._lock:
            self._finished.add(number)
            all_done = len(self._finished) == self.size
        if all_done:
            self._all_done.set()
            self._tell({"done": True})

    def _tell(self, message: gathering.Message) -> None:
        for line in self._lines.values():
            line.send(message)

    def _end(self, why: str) -> None:
        """End this process at once: threads that wait for the others hear of nothing."""
        sys.stdout.flush()
        sys.stderr.write(f"tinyjax.distributed: {why}\n")
        sys.stderr.flush()
        os._exit(1)

    # Leaving

    def leave(self, seconds: float) -> None:
        """Wait until all processes are done, and leave the group.

        Raises:
            DistributedError: others were not done in time; they are told.
        """
        if self._failed:
            return
        if self._lines:
            if self.process_id == 0:
                self._is_done(0)
            else:
                self._tell({"done": True})
            if not self._all_done.wait(seconds):
                with self._lock:
                    late = [i for i in range(self.size) if i not in self._finished]
                others = f"processes {late}" if self.process_id == 0 else "others"
                summary = (
                    f"process {self.process_id} was done, but {others} not within {seconds:g} s "
                    "(shutdown_timeout_seconds)"
                )
                self.fail(summary)
                raise errors.DistributedError(
                    f"distributed.shutdown: {summary}. All processes make the same calls; give a "
                    "longer time where they take unlike long."
                )
        if self.connection is not None:
            self.connection.close()
            if self.process_id == 0:  # XLA's service is for the others until they have left
                self._watching.join(_ENDING)
            self.connection.stop()
        for line in self._lines.values():
            line.close()

    def leave_at_exit(self, seconds: float) -> None:
        """Leave the group at the end of the process, which fails where others are not done."""
        try:
            self.leave(seconds)
        except errors.DistributedError as error:
            self._end(str(error))

    def fail(self, why: str) -> None:
        """Tell the others that this process has failed, and wait for none of them."""
        self._failed = True
        self._tell({"lost": why})
        if self.connection is not None:
            self.connection.abandon()
        if self._lines and self.process_id == 0:
            self._watching.join(_ENDING)

    def forget(self) -> None:
        """Close this process's copies of the connections, which are its parent's."""
        for line in self._lines.values():
            line.close()
