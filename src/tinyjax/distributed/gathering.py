"""Meeting of processes, and detection of processes that are gone.

The first process listens where XLA's service will. The others connect, identify themselves, and
wait. When all are there and agree, the first starts the service and informs the others, and the
connections stay open. A connection that breaks means that its process has ended. Then all end,
since a program over several processes cannot go on without one of them. XLA would notice too, by
heartbeats, which takes minutes. It alone notices a machine that is gone, together with its
connections.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from selectors import EVENT_READ, DefaultSelector
from typing import Any, Final

import attrs

from tinyjax.errors import ArgumentError, DistributedError, shortened

#: How long a process waits before it tries again to reach the first one, in seconds.
_AGAIN: Final = 0.1
#: How much longer the others wait for the first one's message than it waits for them.
_GRACE: Final = 5.0
_LONGEST: Final = 65536

Message = dict[str, Any]


@attrs.frozen
class Handshake:
    """The message by which a process identifies itself.

    Attributes:
        process_id: its number.
        num_processes: the number of processes in its group.
        devices: the number of its devices.
        versions: the versions of its software, which must be the same in all.
    """

    process_id: int
    num_processes: int
    devices: int
    versions: str


def address_of(text: str, what: str) -> tuple[str, int]:
    """Return host and port.

    Raises:
        ArgumentError: the text is not of this form.
    """
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65536):
        raise ArgumentError(
            f"distributed.initialize: {what} is a host and a port, such as '10.0.0.1:1234', but "
            f"got {shortened(text)}."
        )
    return host.strip("[]"), int(port)


class JsonConnection:
    """A connection on which processes send each other messages, each a line of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket: socket.socket = connection
        self._received = b""

    def send(self, message: Message) -> None:
        """Send a message; one who is gone misses it."""
        try:
            self.socket.settimeout(_GRACE)
            self.socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass
        finally:
            self.socket.settimeout(None)

    def receive(self, seconds: float | None = None) -> Message | None:
        """Wait for a message; None where the connection has ended, or brings something else.

        Raises:
            TimeoutError: there was none in time.
        """
        ends = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._received:
            if len(self._received) > _LONGEST:
                return None
            self.socket.settimeout(None if ends is None else max(ends - time.monotonic(), 0.001))
            try:
                chunk = self.socket.recv(4096)
            except TimeoutError:
                raise
            except OSError:
                return None
            if not chunk:
                return None
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def messages(self) -> Iterator[Message | None]:
        """Receive the next message, and those that have come with it."""
        yield self.receive()
        while b"\n" in self._received:  # of which the socket does not tell any more
            yield self.receive()

    @property
    def own_host(self) -> str:
        """The address of this end, by which the other end reaches this machine."""
        host: str = self.socket.getsockname()[0]
        return host

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()


def listener(address: str) -> socket.socket:
    """Listen where the first process is to be found.

    Raises:
        DistributedError: the port is in use, or the address is none of this machine.
    """
    host, port = address_of(address, "coordinator_bind_address")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of one that has ended
        server.bind((host, port))
        server.listen(1024)
    except OSError as error:
        server.close()
        raise DistributedError(
            f"distributed.initialize: process 0 cannot listen at {address}: "
            f"{error.strerror or error}. Another program or another group uses the port, or the "
            "address is none of this machine: choose another port for all processes, or give "
            "coordinator_bind_address."
        ) from None
    return server


@attrs.frozen
class ProcessGroup:
    """Processes that have met.

    Attributes:
        lines: this one's connections, by the numbers of the processes at the other ends.
        devices: how many devices each process has.
    """

    lines: Mapping[int, JsonConnection]
    devices: Sequence[int]


def gather(listener: socket.socket, mine: Handshake, seconds: float) -> ProcessGroup:
    """Wait for all other processes, in the first one; they wait until it begins.

    Args:
        listener: where it listens; closed in the end.
        mine: what this process says of itself.
        seconds: how long to wait.

    Raises:
        DistributedError: not all have come in time, or they do not agree; all are told so.
    """
    lines: dict[int, JsonConnection] = {}
    devices = {0: mine.devices}
    ends = time.monotonic() + seconds
    strangers: list[JsonConnection] = []
    wrong = ""
    with listener, DefaultSelector() as waiting:
        waiting.register(listener, EVENT_READ)
        while len(lines) < mine.num_processes - 1 and not wrong:
            left = ends - time.monotonic()
            ready = waiting.select(max(left, 0.0))
            if not ready and left <= 0:
                missing = [i for i in range(1, mine.num_processes) if i not in lines]
                wrong = (
                    f"of {mine.num_processes} processes {_listed(missing)} did not come within "
                    f"{seconds:g} s (initialization_timeout). Were they started, with this "
                    "coordinator_address, and can they reach it?"
                )
            for key, _ in ready:
                if key.fileobj is listener:
                    line = JsonConnection(listener.accept()[0])
                    strangers.append(line)
                    waiting.register(line.socket, EVENT_READ, line)
                    continue
                line = key.data
                waiting.unregister(line.socket)
                hello = _read_hello(line)
                if hello is None:  # of another program
                    continue
                objection = _objection(hello, mine, lines)
                if objection:
                    wrong = wrong or objection
                    line.send({"error": f"distributed.initialize: {objection}"})
                    continue
                strangers.remove(line)
                lines[hello.process_id] = line
                devices[hello.process_id] = hello.devices
    for line in strangers:
        line.close()
    if wrong:
        wrong = f"distributed.initialize: {wrong}"
        for line in lines.values():
            line.send({"error": wrong})
            line.close()
        raise DistributedError(wrong)
    return ProcessGroup(lines, [devices[i] for i in range(mine.num_processes)])


def begin(gathered: ProcessGroup) -> None:
    """Tell the others that all are there, and that the service is."""
    for line in gathered.lines.values():
        line.send({"devices": gathered.devices})


def _read_hello(line: JsonConnection) -> Handshake | None:
    try:
        message = line.receive(_GRACE)
    except TimeoutError:
        return None
    match message:
        case {
            "process_id": int(who),
            "num_processes": int(size),
            "devices": int(devices),
            "versions": str(versions),
        } if 0 <= who < size and devices > 0:
            return Handshake(who, size, devices, versions)
        case _:
            return None


def _objection(hello: Handshake, mine: Handshake, present: Iterable[int]) -> str:
    """Return the error message for a process that connected, or nothing for an expected one."""
    who = hello.process_id
    if hello.num_processes != mine.num_processes:
        return (
            f"process {who} was started with num_processes={hello.num_processes}, but process 0 "
            f"with {mine.num_processes}. Give all the same number, and each group its own port."
        )
    if who == 0 or who in present:
        return (
            f"two processes were started with process_id={who}. Give each its own number, from 0 "
            "on, and each group its own port."
        )
    if hello.versions != mine.versions:
        return (
            f"process {who} runs {hello.versions}, but process 0 {mine.versions}. Processes that "
            "compute together run the same versions."
        )
    return ""


def approach(address: str, mine: Handshake, seconds: float) -> ProcessGroup:
    """Find the first process, in one of the others, and wait until all are there.

    Args:
        address: where the first process is.
        mine: what this process says of itself.
        seconds: how long to wait.

    Raises:
        DistributedError: the first process is not there in time, or not all are, or they do not
            agree.
    """
    ends = time.monotonic() + seconds
    who = f"distributed.initialize: process {mine.process_id}"
    line = _reach(address, ends)
    if isinstance(line, str):
        raise DistributedError(
            f"{who} did not find process 0 at {address} within {seconds:g} s "
            f"(initialization_timeout): {line}. Is it running, and is this its address "
            "(coordinator_address)?"
        )
    line.send(attrs.asdict(mine))
    try:
        answer = line.receive(max(ends - time.monotonic(), 0.0) + _GRACE)
    except TimeoutError:
        line.close()
        raise DistributedError(
            f"{who} reached {address}, but had no answer within {seconds:g} s "
            "(initialization_timeout). Is process 0 stopped, or another program there?"
        ) from None
    match answer:
        case {"devices": [*devices]} if _are_devices(devices, mine):
            return ProcessGroup({0: line}, devices)
        case {"error": str(why)}:
            line.close()
            raise DistributedError(why)
        case _:
            line.close()
    raise DistributedError(
        f"{who} was turned away at {address}. Process 0 has ended, or the group has begun without "
        "this process, or another program is there: choose another port for all processes."
    )


def _are_devices(counts: Sequence[object], mine: Handshake) -> bool:
    """Return whether these are numbers of devices, one for each process."""
    return len(counts) == mine.num_processes and all(type(n) is int and n > 0 for n in counts)


def _reach(address: str, ends: float) -> JsonConnection | str:
    """Connect to the first process; return why not, where there is no time left."""
    where = address_of(address, "coordinator_address")
    while True:
        left = ends - time.monotonic()
        try:
            connection = socket.create_connection(where, max(left, 0.1))
        except OSError as error:
            why = error.strerror or str(error)
        else:
            if connection.getsockname() != connection.getpeername():
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                return JsonConnection(connection)
            # Where nobody listens, a connection may get that port itself, and reach itself.
            connection.close()
            why = "nobody listens"
        if time.monotonic() + _AGAIN >= ends:
            return why
        time.sleep(_AGAIN)


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:20])) + (", ..." if len(numbers) > 20 else "")
    return f"{'number' if len(numbers) == 1 else 'numbers'} {shown}"
