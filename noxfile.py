"""How tinyjax is checked: plain ``nox`` runs what must pass; ``nox -l`` lists the rest."""

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["tests", "mypy", "lint", "typeguard"]
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

PROJECT = nox.project.load_toml("pyproject.toml")
FUZZ_EXAMPLES = "2000"


def install(session: nox.Session, *groups: str) -> None:
    """Install the package, editable, and the named dependency groups of pyproject.toml."""
    session.install("-e", ".", *nox.project.dependency_groups(PROJECT, *groups))


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests. Arguments go to pytest."""
    install(session, "test", "examples", "types")  # the examples and annotations are tested too
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session
def mypy(session: nox.Session) -> None:
    """Check the types of src and tests."""
    install(session, "types")
    session.run("mypy", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting and the layers of the package."""
    session.install(*nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    # The layers are read from the source: nothing is imported, so nothing need be installed.
    session.run("lint-imports", env={"PYTHONPATH": "src"})


@nox.session
def typeguard(session: nox.Session) -> None:
    """Run the quick tests with runtime type checks in every function of the package.

    A sixth of the cases of each is taken (tests/conftest.py).
    """
    install(session, "test")
    marked = ("-m", "not fuzz and not slow and not wrong_types and not counts")
    session.run("pytest", "-n", "2", *marked, *session.posargs, env={"TINYJAX_TYPECHECK": "1"})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Search random programs: ``nox -s fuzz -- 5000`` tries 5000 of them in each test.

    Without a number, TINYJAX_FUZZ_EXAMPLES is taken. Further arguments go to pytest.
    """
    install(session, "test")
    budget, arguments = session.env.get("TINYJAX_FUZZ_EXAMPLES") or FUZZ_EXAMPLES, session.posargs
    if arguments and arguments[0].isdigit():
        budget, *arguments = arguments
    session.run(
        *("pytest", "-n", "2", "-m", "fuzz", "--hypothesis-profile", "fuzz", *arguments),
        # At level 0, which the tests are compiled at, XLA may round what two loops compute alike in
        # two ways, and then no element is equal to the greatest.
        env={
            "TINYJAX_FUZZ_EXAMPLES": budget,
            "XLA_FLAGS": "--xla_backend_optimization_level=1",
        },
    )


@nox.session
def bench(session: nox.Session) -> None:
    """Measure tinyjax beside JAX, autograd and PyTorch. Arguments go to the benchmarks."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def growth(session: nox.Session) -> None:
    """Measure how time grows with the size and the depth of programs."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks.growth", *session.posargs)


@nox.session
def memory(session: nox.Session) -> None:
    """Measure what a million calls on each path of dispatch leave in memory, beside JAX."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks.memory", *session.posargs)


@nox.session
def compare(session: nox.Session) -> None:
    """Measure two commits of tinyjax: ``nox -s compare -- main .``; ``.`` is the working tree."""
    install(session, "bench")
    session.run("python", "-m", "benchmarks.compare", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Train a classifier of handwritten digits: the first thing to run."""
    install(session, "examples")
    session.run("python", "examples/digits.py", *session.posargs)


@nox.session
def tour(session: nox.Session) -> None:
    """Walk through everything tinyjax does, printing as it goes."""
    install(session, "examples")
    session.run("python", "examples/tour.py", *session.posargs)


@nox.session
def verifytypes(session: nox.Session) -> None:
    """Ask pyright whether every public name has a complete type."""
    install(session, "types")
    session.run("pyright", "--verifytypes", "tinyjax", "--ignoreexternal", *session.posargs)
