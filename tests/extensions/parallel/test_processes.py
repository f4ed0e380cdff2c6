"""Several processes: what they compute is what one computes, and each failure ends with a message.

Plain runs take some programs and one failure, ``nox -s distributed`` the others. Every process has
a limit of its own, so that nothing waits for ever.
"""

import io
import os
import re
import signal
import socket
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import process_checkpoints
import pytest
from jax._src.clusters import ompi_cluster, slurm_cluster
from process_programs import PROGRAMS, grid, results

import tinyjax
from raising import raises
from tinyjax.distributed import launch
from tinyjax.distributed.clusters import detected
from tinyjax.distributed.gathering import Handshake, approach, begin, gather, listener
from tinyjax.errors import ArgumentError, DistributedError
from tinyjax.experimental import checkpoints

HERE = Path(__file__).parent
#: In seconds; most take three on a machine that does nothing else.
LIMIT = 200

every = pytest.mark.fuzz


def launched(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tinyjax.distributed.launch", *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # those that it has launched, too
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


# What they compute


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "devices", "programs"),
    [
        (2, 2, "operations,programs,collectives,assembled,refused"),
        *[
            pytest.param(*shape, name, marks=every)
            for shape in ((2, 2), (4, 1))
            for name in PROGRAMS
        ],
    ],
)
def test_programs(processes: int, devices: int, programs: str, tmp_path: Path) -> None:
    done = launched(
        *("-n", processes, f"--devices-per-process={devices}"),
        *(HERE / "process_programs.py", programs, tmp_path / "found"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = results(programs, grid(4))
    for number in range(processes):
        found = np.load(tmp_path / f"found.{number}.npz")
        assert len(found.files) == len(expected)
        for x, y in zip(found.values(), expected, strict=True):
            np.testing.assert_allclose(x, np.asarray(y, np.float32), rtol=2e-5, atol=2e-5)


@every
@pytest.mark.parametrize(("processes", "devices"), [(2, 2), (4, 1)])
def test_checkpoints(processes: int, devices: int, tmp_path: Path) -> None:
    mesh = tinyjax.make_mesh((2, 2), ("x", "y"))
    checkpoints.save(tmp_path, process_checkpoints.state(mesh, 0))
    done = launched(
        *("-n", processes, f"--devices-per-process={devices}"),
        *(HERE / "process_checkpoints.py", tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("data-*/*.safetensors"))) == processes
    process_checkpoints.check(tmp_path, mesh, 4)


@every
def test_programs_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All other processes load the programs that one process has compiled."""
    monkeypatch.setenv("TINYJAX_CACHE_DIR", str(tmp_path / "cache"))
    program = (HERE / "process_programs.py", "collectives")
    entries: list[set[str]] = []
    for run in range(2):
        done = launched("-n", 2, "--devices-per-process=2", *program, tmp_path / f"{run}")
        assert (done.returncode, done.stderr) == (0, "")
        entries.append({x.name for x in (tmp_path / "cache").iterdir()})
    assert entries[0] == entries[1]
    for number in range(2):
        first, second = [np.load(tmp_path / f"{run}.{number}.npz") for run in range(2)]
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name])


EXAMPLE = HERE.parents[2] / "examples" / "train_distributed.py"
STEPS = "--steps=40"
#: The collectives of a step on four devices. A step of the pipeline takes seven turns and as many
#: backward, and each of the transformer's four blocks adds up four activations.
COLLECTIVES = {
    "data": {"all-reduce": 1},
    "tensor": {"all-reduce": 4 * 4},
    "pipeline": {"all-reduce": 1, "collective-permute": 2 * 7},
}


def losses(process: subprocess.CompletedProcess[str], collectives: dict[str, int]) -> list[float]:
    assert process.returncode == 0, process.stderr
    told, *found, last = [line.removeprefix("[0] ") for line in process.stdout.splitlines()]
    assert literal_eval(told.removeprefix("collectives of a step: ")) == collectives
    assert re.search(r"9\d\.\d% of 1797 digits|\d+ letters", last) is not None, process.stdout
    return [float(line.split(": loss ")[1]) for line in found]


@cache
def losses_of_one_device(model: str) -> list[float]:
    command = [sys.executable, str(EXAMPLE), STEPS, f"--model={model}", "--devices=1"]
    compiled = os.environ | {"TINYJAX_TIER": "compiled"}  # as programs of several devices are
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=LIMIT, env=compiled
    )
    return losses(done, {})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "devices", "model", "parallel"),
    [
        (1, 4, "digits", "data"),
        *[
            pytest.param(*shape, model, parallel, marks=every)
            for shape in ((1, 4), (2, 2), (4, 1))
            for model, parallel in (
                ("digits", "data"),
                ("transformer", "data"),
                ("transformer", "tensor"),
                ("transformer", "pipeline"),
            )
            if (shape, model) != ((1, 4), "digits")
        ],
    ],
)
def test_training(processes: int, devices: int, model: str, parallel: str) -> None:
    how = ("-n", processes, f"--devices-per-process={devices}")
    what = (f"--model={model}", f"--parallel={parallel}", STEPS)
    found = losses(launched(*how, EXAMPLE, "--distributed", *what), COLLECTIVES[parallel])
    expected = losses_of_one_device(model)
    assert len(found) == 2
    assert expected[1] < expected[0]
    # steps amplify rounding: NumPy's tier and XLA's differ by 7e-4 on one device
    np.testing.assert_allclose(found, expected, rtol=1e-3)


# The launcher


@pytest.mark.parametrize(
    ("code", "status", "out"),
    [
        (
            "print(os.environ['TINYJAX_PROCESS_ID'], sys.argv[1:])",
            0,
            "[{0}] {0} ['a', '-n', 'b']\n",
        ),
        ("print(os.environ['TINYJAX_NUM_CPU_DEVICES'], end='')", 0, "[{0}] 3\n"),
        ("print(os.environ['TINYJAX_NUM_PROCESSES']); sys.exit(7)", 7, "[{0}] 2\n"),
        ("os.kill(os.getpid(), 15)", 128 + 15, ""),
        ("os.environ['TINYJAX_PROCESS_ID'] == '1' and sys.exit(3); time.sleep(100)", 3, ""),
    ],
)
def test_launch(
    code: str,
    status: int,
    out: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "_BY_THEMSELVES", 0.2)
    script = tmp_path / "script.py"
    script.write_text(f"import os, sys, time\n{code}\n", encoding="utf-8")
    given = ["-n", "2", "--devices-per-process", "3", str(script), "a", "-n", "b"]
    assert launch.main(given) == status
    found = capfd.readouterr()
    assert sorted(found.out.splitlines(True)) == ([out.format(i) for i in range(2)] if out else [])
    assert ("launch: process" in found.err) == (status != 0)


# Failures


#: What Gloo says of a process that it has connected, in the pieces in which it writes it.
RANK, TO, OF = "[Gloo] Rank ", " is connected to ", " peer ranks. "
EXPECTED = "Expected number of connected peer ranks is : "


@pytest.mark.parametrize(
    "printed",
    [
        f"{RANK}0{TO}1{OF}{EXPECTED}1\n",
        f"{RANK}{RANK}00{TO}{TO}11{OF}{OF}{EXPECTED}{EXPECTED}1\n1\n",
        f"{RANK}1{TO}{RANK}1{OF}{EXPECTED}1\n0{TO}1{OF}{EXPECTED}1\n",
        f"{RANK}0{TO}1{OF}{RANK}0{EXPECTED}1{TO}1{OF}{EXPECTED}1\n\n",
    ],
)
def test_what_gloo_prints_is_left_out(printed: str) -> None:
    target = io.BytesIO()
    launch._forward(3, io.BytesIO(f"begin\n1\n\n{printed}1\n\nend\n".encode()), target)
    lines = target.getvalue().decode().splitlines()
    assert lines == ["[3] begin", "[3] 1", "[3] ", "[3] 1", "[3] ", "[3] end"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "victim", "status", "message"),
    [
        ("fail", 1, 1, r"\[0\] .*process 1 of 2 .*ValueError: a mistake"),
        pytest.param(
            *("kill", 1, 128 + signal.SIGKILL, r"\[0\] .*process 1 of 2 has ended without"),
            marks=every,
        ),
        pytest.param(
            "kill", 0, None, r"process 0 of 2 has ended|leader task|Connection", marks=every
        ),
        pytest.param("fail", 0, 1, r"\[1\] .*process 0 of 2 .*ValueError: a mistake", marks=every),
        pytest.param("leave", 1, 1, r"process 1 was done, but others not within 10 s", marks=every),
        pytest.param("leave", 0, 1, r"process 0 was done, but processes \[1\] not", marks=every),
        pytest.param("stop", 1, None, "stopped sending heartbeats", marks=every),
        pytest.param("shutdown", 1, 1, r"process 1 was done, but others not within", marks=every),
    ],
)
def test_one_that_fails(what: str, victim: int, status: int | None, message: str) -> None:
    done = launched("-n", 2, HERE / "process_failures.py", what, victim)
    assert done.returncode == status if status else done.returncode != 0
    # Of what Gloo prints from several threads at once, a number or an empty line may be left.
    words = {line for line in done.stdout.splitlines() if re.search("[a-z]", line)}
    assert words <= {"[0] ready", "[1] ready"}
    assert re.search(message, done.stderr) is not None, done.stderr


@contextmanager
def free_address() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    yield f"127.0.0.1:{port}"


def meet(address: str, *hellos: tuple[int, int], seconds: float = 0.7) -> list[Any]:
    """Return the outcome of a meeting of processes, given their numbers and group sizes."""

    def come(process: int, size: int) -> Any:
        mine = Handshake(process, size, process + 1, "these versions")
        try:
            if process:
                found = approach(address, mine, seconds)
            else:
                found = gather(listener(address), mine, seconds)
                begin(found)
        except DistributedError as error:
            return error.message
        for line in found.lines.values():
            line.close()
        return found.devices

    with ThreadPoolExecutor(len(hellos)) as pool:
        return [each.result() for each in [pool.submit(come, *hello) for hello in hellos]]


def test_meeting() -> None:
    with free_address() as address:
        assert meet(address, (2, 3), (0, 3), (1, 3), seconds=60) == [[1, 2, 3]] * 3
        # and again, at the same port
        assert meet(address, (0, 2), (1, 2), seconds=60) == [[1, 2]] * 2


@pytest.mark.parametrize(
    ("hellos", "message"),
    [
        (((0, 3), (1, 3)), "of 3 processes number 2 did not come within 0.7 s"),
        (((0, 2),), "of 2 processes number 1 did not come"),
        (((1, 2),), "process 1 did not find process 0 at 127.0.0.1:.*refused.*coordinator_address"),
        (((0, 3), (1, 3), (1, 3)), "two processes were started with process_id=1"),
        (((0, 2), (2, 3)), "process 2 was started with num_processes=3, but process 0 with 2"),
        (((0, 2), (0, 2)), "process 0 cannot listen at .*in use.*choose another port"),
    ],
)
def test_processes_that_do_not_meet(hellos: tuple[tuple[int, int], ...], message: str) -> None:
    with free_address() as address:
        found = [x for x in meet(address, *hellos) if isinstance(x, str)]
    assert found
    # where one says what is wrong, all say so who were there
    assert any(re.search(message, x) for x in found), found


def test_who_is_turned_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(2) as pool:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        mine = Handshake(1, 2, 1, "")
        late = pool.submit(approach, address, mine, 5.0)
        connection, _ = other.accept()
        connection.sendall(b"HTTP/2 of another program\n")
        connection.close()
        with raises(DistributedError, match=r"turned away.*begun without this process"):
            late.result()
        with raises(DistributedError, match=r"cannot listen.*another group uses the port"):
            listener(address)


def test_strangers_do_not_matter() -> None:
    with free_address() as address, ThreadPoolExecutor(1) as pool:
        first = pool.submit(meet, address, (0, 2), seconds=60)
        host, port = address.split(":")
        for said in (b"GET / HTTP/1.1\n", b"{}\n", b"[1]\n", b""):
            while first.running():
                try:
                    with socket.create_connection((host, int(port))) as stranger:
                        stranger.sendall(said)
                    break
                except ConnectionRefusedError:  # not yet
                    continue
        found = approach(address, Handshake(1, 2, 1, "these versions"), 60)
        found.lines[0].close()
        assert first.result() == [found.devices] == [[1, 1]]


# What is given, and what the environment says


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no num_processes.*launch, Slurm or Open MPI"),
        ({"num_processes": 2}, "no process_id"),
        ({"num_processes": 2, "process_id": 1}, "no coordinator_address"),
        ({"num_processes": 2, "process_id": 2}, "process_id=2 and num_processes=2"),
        ({"num_processes": 2, "process_id": 0, "coordinator_address": "here"}, "host and a port"),
        ({"num_processes": "two", "process_id": 0}, "num_processes of distributed.initialize"),
        ({"cluster_detection_method": "other"}, "'other'"),
        ({"cluster_detection_method": "slurm"}, "has not its variables"),
    ],
)
def test_arguments(arguments: dict[str, Any], message: str) -> None:
    with raises(ArgumentError, match=message):
        tinyjax.distributed.initialize(**arguments)


def test_it_is_the_first_call() -> None:
    tinyjax.devices()
    with raises(DistributedError, match=r"before tinyjax\.devices\(\)"):
        tinyjax.distributed.initialize(num_processes=1, process_id=0)
    assert not tinyjax.distributed.is_initialized()
    tinyjax.distributed.shutdown()
    alone = (tinyjax.process_index(), tinyjax.process_count(), tinyjax.process_indices())
    assert alone == (0, 1, [0])
    assert tinyjax.local_devices() == tinyjax.local_devices(0) == tinyjax.devices()
    with raises(ArgumentError, match="no process 1"):
        tinyjax.local_devices(1)


SLURM = {"SLURM_NTASKS": "8", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}
OMPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}


@pytest.mark.parametrize(
    ("theirs", "environment"),
    [
        *[
            (
                slurm_cluster.SlurmCluster,
                {**SLURM, "SLURM_JOB_ID": job, "SLURM_STEP_NODELIST": nodes},
            )
            for job, nodes in (
                ("77", "node001"),
                ("4096", "node001,host2"),
                ("123456", "node[001-0015],host2"),
                ("9", "node[001,007-015],host2"),
            )
        ],
        *[
            (ompi_cluster.OmpiCluster, {**OMPI, "OMPI_MCA_orte_hnp_uri": uri})
            for uri in (
                "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911",
                "1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370",
            )
        ],
    ],
)
@pytest.mark.parametrize("port", [None, "1234"])
def test_clusters(
    theirs: Any,
    environment: dict[str, str],
    port: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = detected({**environment, **({} if port is None else {"JAX_COORDINATOR_PORT": port})})
    assert theirs.is_env_present()
    assert found is not None
    assert found.coordinator_address == theirs.get_coordinator_address(None, port)
    assert found.num_processes == theirs.get_process_count()
    assert found.process_id == theirs.get_process_id()
    assert detected(environment, "deactivate") is None
    assert detected({}) is None
