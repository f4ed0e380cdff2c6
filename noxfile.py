"""How tinyjax is checked: plain ``nox`` runs what must pass; ``nox -l`` lists the rest."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

import nox

nox.needs_version = ">=2025.2"
nox.options.sessions = ["tests", "mypy", "lint", "typeguard"]
# The sessions share one environment, since jaxlib and what it needs take half a gigabyte.
nox.options.default_venv_backend = "none"

PROJECT = nox.project.load_toml("pyproject.toml")
ENVIRONMENT = Path(".nox", "dev").absolute()
FOLDER = "Scripts" if os.name == "nt" else "bin"
PROGRAMS = ENVIRONMENT / FOLDER
FUZZ_EXAMPLES = "2000"
TESTS = {"PYTHONPATH": "tests"}
#: Bytecode is kept in .nox, of tests too, whatever the environment says: else each process of the
#: many that tests start would compile the package again.
BYTECODE = {
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(Path(".nox", "bytecode").absolute()),
}
#: A test that takes longer than this, in seconds, fails, and says where it was.
SUITE = ("pytest", "-n", "2", "--timeout", "300", "--timeout-method", "thread")


def run(session: nox.Session, program: str, *args: str, env: dict[str, str] | None = None) -> None:
    """Run a program of the shared environment."""
    session.run(str(PROGRAMS / program), *args, env=BYTECODE | (env or {}))


def pip(session: nox.Session, python: str, *args: str) -> None:
    """Install packages, and tell how far it is where pip does not: its bar is for terminals.

    Compiling what is never imported would take most of the time.
    """
    folder = Path(python).parent.parent
    done = Event()

    def tell() -> None:
        while not done.wait(4):
            count = sum(1 for _ in folder.glob("[lL]ib/**/site-packages/*.dist-info"))
            session.log(f"{count} packages are installed")

    if not sys.stdout.isatty():
        Thread(target=tell, daemon=True).start()
    try:
        session.run_install(python, "-m", "pip", "install", "--no-compile", *args)
    finally:
        done.set()


def install(session: nox.Session, *wanted: str) -> None:
    """Add dependency groups of pyproject.toml to the environment; "." is the package, editable.

    What a session has added stays, and is looked at again when pyproject.toml asks for something
    else. Remove .nox to start afresh.
    """
    record = ENVIRONMENT / "installed.json"
    found: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
    maker = [str(ENVIRONMENT), sys.base_prefix, sys.version]
    if found.get("python") != maker:
        # nox brings virtualenv, whose pip has a bar while it installs, as venv's does not
        session.run_install(sys.executable, "-m", "virtualenv", "--clear", str(ENVIRONMENT))
        found = {"python": maker}
    missing: dict[str, Any] = {}
    requirements: list[str] = []
    for name in wanted:
        group = () if name == "." else nox.project.dependency_groups(PROJECT, name)
        needed = PROJECT["project"] if name == "." else list(group)
        if found.get(name) != needed:
            missing[name] = needed
            requirements += ["-e", "."] if name == "." else group
    if missing:
        pip(session, str(PROGRAMS / "python"), *requirements)
        record.write_text(json.dumps(found | missing))


def apart(session: nox.Session, name: str, *wanted: str, maker: str = sys.executable) -> str:
    """Make an environment besides the shared one, with the package; return its Python.

    Args:
        session: the session.
        name: of the environment.
        *wanted: what else is installed.
        maker: which Python it is of.
    """
    environment = Path(".nox", name).absolute()
    if not environment.exists():
        session.run_install(sys.executable, "-m", "virtualenv", "-p", maker, str(environment))
    python = str(environment / FOLDER / "python")
    pip(session, python, "-e", ".", *wanted)
    return python


def run_apart(session: nox.Session, name: str) -> None:
    """Run the tests in a folder, with the dependency group of its name.

    They have an environment of their own, since they ask for many other packages.
    """
    python = apart(session, name, *nox.project.dependency_groups(PROJECT, name))
    folder = f"tests/{name}"
    alone = ("-o", "addopts=", "--confcutdir", folder)  # without what other tests need
    session.run(python, "-m", "pytest", *alone, folder, *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests. Arguments go to pytest."""
    # the examples and annotations are tested too
    install(session, ".", "test", "examples", "types")
    run(session, *SUITE, *session.posargs)


@nox.session
def mypy(session: nox.Session) -> None:
    """Check the types of src and tests."""
    install(session, ".", "types")
    run(session, "mypy", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, the layers of the package and the language of its docstrings."""
    install(session, "lint")
    run(session, "ruff", "check", ".")
    # files are read by the encoding that is named: the default is another in a locale of C
    run(session, "ruff", "check", "--preview", "--select", "PLW1514", ".")
    run(session, "ruff", "format", "--check", ".")
    # The layers are read from the source: nothing is imported, so nothing need be installed.
    run(session, "lint-imports", env={"PYTHONPATH": "src"})
    run(session, "python", "-m", "tools.words", env=TESTS)


@nox.session
def typeguard(session: nox.Session) -> None:
    """Run the quick tests with runtime type checks in every function of the package.

    The examples in docstrings are taken, which call every public function, one test in ten, and of
    a test with many cases one in 50 (tests/conftest.py).
    """
    install(session, ".", "test", "examples")
    marked = ("-m", "not fuzz and not browser and not slow and not wrong_types and not counts")
    run(session, *SUITE, *marked, *session.posargs, env={"TINYJAX_TYPECHECK": "1"})


@nox.session
def distributed(session: nox.Session) -> None:
    """Run all tests of several devices and processes, of which plain runs take a sample."""
    install(session, ".", "test")
    run(session, *SUITE, "-m", "fuzz or not fuzz", "tests/extensions/parallel", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Build the site, open its pages and the explorer's in Chromium, and draw by Graphviz.

    Both must be installed. Of pages that programs write, a sample is opened (tests/pages); with
    ``--every-page`` each of them is. Further arguments go to pytest.
    """
    install(session, ".", "test", "docs")
    run(session, "python", "-m", "website")
    arguments = [x for x in session.posargs if x != "--every-page"]
    environment = {"TINYJAX_EVERY_PAGE": "1"} if "--every-page" in session.posargs else {}
    where = ("-m", "browser", "tests/tools/exploring", "tests/pages")
    run(session, *SUITE, *where, *arguments, env=environment)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Search random programs: ``nox -s fuzz -- 5000`` tries 5000 of them in each test.

    Cases that plain runs leave out of tables, of which they take a sample, are run too.
    Without a number, TINYJAX_FUZZ_EXAMPLES is taken. ``--write`` adds them to the table,
    where runs add up. Further arguments go to pytest.
    """
    install(session, ".", "test")
    budget = session.env.get("TINYJAX_FUZZ_EXAMPLES") or FUZZ_EXAMPLES
    arguments = [x for x in session.posargs if x != "--write"]
    noting = {"TINYJAX_WRITE": "1"} if "--write" in session.posargs else {}
    if arguments and arguments[0].isdigit():
        budget, *arguments = arguments
    run(
        session,
        *("pytest", "-n", "2", "-m", "fuzz", "--hypothesis-profile", "fuzz", *arguments),
        env={"TINYJAX_FUZZ_EXAMPLES": budget, **noting},
    )


@nox.session
def stress(session: nox.Session) -> None:
    """Run 2,000 programs in 16 threads, of all tiers, with failures and Ctrl-C.

    ``nox -s stress -- 10000`` runs more. Further arguments go to pytest.
    """
    install(session, ".", "test")
    programs, arguments = "2000", session.posargs
    if arguments and arguments[0].isdigit():
        programs, *arguments = arguments
    environment = {"TINYJAX_STRESS_PROGRAMS": programs}
    run(session, "pytest", "tests/house/test_stress.py", *arguments, env=environment)


@nox.session
def hostile(session: nox.Session) -> None:
    """Try input that means harm: ``nox -s hostile -- 20000`` tries as many cases of each kind.

    Without a number, 2,000. Further arguments choose the kinds: exports, readers, arguments,
    programs. ``--write`` adds them to the table, and goes on behind those that it tells of.
    """
    install(session, ".", "test")
    budget, kinds = FUZZ_EXAMPLES, [x for x in session.posargs if x != "--write"]
    noting = ["--write"] if "--write" in session.posargs else []
    if kinds and kinds[0].isdigit():
        budget, *kinds = kinds
    for kind in kinds or ("exports", "readers", "arguments", "programs"):
        run(session, "python", "-m", "hostile", kind, budget, *noting, env=TESTS)


@nox.session
def mutants(session: nox.Session) -> None:
    """Make mistakes in the package, and list those that no test notices.

    ``nox -s mutants -- 300 --seed 1`` makes 300, and takes an hour on two cores. ``--write`` writes
    tests/tables/mutants.md, ``--folder transforms`` makes mistakes there only.
    """
    install(session, ".", "test")
    run(session, "python", "-m", "mutants", *session.posargs, env=TESTS)


@nox.session
def coverage(session: nox.Session) -> None:
    """List the lines and branches of the package that no test of a plain run reaches.

    It takes hardly longer than the tests, and goes on where it was stopped.
    """
    install(session, ".", "test", "examples", "types", "coverage")
    run(session, "python", "-m", "tools.reaching", "--fail-under=97", *session.posargs, env=TESTS)


#: Older processors, to be imitated: what OpenBLAS calls each, which of the instructions that it may
#: choose NumPy keeps, and XLA's newest. (With less than AVX, XLA cannot compile float16.)
PROCESSORS: dict[str, tuple[str, set[str], str]] = {
    "haswell": ("Haswell", {"X86_V3", "AVX2", "FMA3"}, "AVX2"),
    "sandybridge": ("Sandybridge", set(), "AVX"),
    "nehalem": ("Nehalem", set(), "AVX"),
}


@nox.session
@nox.parametrize("processor", list(PROCESSORS))
def processors(session: nox.Session, processor: str) -> None:
    """Run the tests as on older x86 processors, which round sums and logarithms otherwise.

    ``nox -s "processors(processor='haswell')"`` imitates one. Arguments go to pytest.
    """
    install(session, ".", "test", "examples", "types")
    openblas, kept, xla = PROCESSORS[processor]
    ask = "import numpy; print(*numpy.show_config('dicts')['SIMD Extensions'].get('found', ()))"
    python = str(PROGRAMS / "python")
    found = session.run(python, "-W", "ignore", "-c", ask, silent=True)
    # tests/conftest.py leaves flags alone that are in the environment
    flags = "from tools import quick; print(quick.FLAGS)"
    quick = session.run(python, "-c", flags, silent=True, env=TESTS)
    run(
        session,
        *("pytest", "-n", "2", *session.posargs),
        env={
            "OPENBLAS_CORETYPE": openblas,
            "NPY_DISABLE_CPU_FEATURES": " ".join(set(str(found).split()) - kept),
            "XLA_FLAGS": f"{str(quick).strip()} --xla_cpu_max_isa={xla}",
        },
    )


#: Of other releases: what each environment installs besides what tests run with, and by which
#: Python. jaxlib 0.11 and later need Python 3.12.
VERSIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "python3.12-jaxlib0.10.2": ("python3.12", ("jaxlib==0.10.2", "jax==0.10.2")),
    "python3.12-jaxlib0.11.2": ("python3.12", ("jaxlib==0.11.2", "jax==0.11.2")),
    "python3.13-jaxlib0.11.2": ("python3.13", ("jaxlib==0.11.2", "jax==0.11.2")),
    "python3.13-jaxlib0.12.0": ("python3.13", ("jaxlib==0.12.0.1", "jax==0.12.0.1")),
    "python3.14-jaxlib0.12.0": ("python3.14", ("jaxlib==0.12.0.1", "jax==0.12.0.1")),
}


def interpreter(name: str) -> str | None:
    """Return the path of a Python that runs; version managers put names there of those that do not.

    Args:
        name: such as "python3.12".
    """
    ask = "import sys; print(sys.executable)"
    done = (
        subprocess.run([name, "-c", ask], capture_output=True, text=True, check=False)
        if (shutil.which(name))
        else None
    )
    return None if done is None or done.returncode else done.stdout.strip()


@nox.session
@nox.parametrize("environment", list(VERSIONS), ids=list(VERSIONS))
def versions(session: nox.Session, environment: str) -> None:
    """Run one test in forty on other releases of Python and jaxlib, with the jax of each.

    An environment whose Python is not on the path is skipped, and the summary says so.
    ``nox -s "versions(python3.13-jaxlib0.12.0)"`` runs one. Arguments go to pytest.
    """
    name, wanted = VERSIONS[environment]
    found = interpreter(name)
    if found is None:
        session.skip(f"{name} is not on the path")
    tools = nox.project.dependency_groups(PROJECT, "tools", "examples")
    python = apart(session, environment, *wanted, *tools, maker=found)
    chosen = {"TINYJAX_SAMPLE": session.env.get("TINYJAX_SAMPLE") or "40"}
    quick = ("-m", "not fuzz and not browser and not slow")
    session.run(python, "-m", *SUITE, *quick, *session.posargs, env=chosen)


#: Where programs may have to run: what each surrounding sets in the environment.
SURROUNDINGS: dict[str, dict[str, str]] = {
    # without asserts and docstrings, but for those of the tests, which pytest rewrites
    "optimised": {
        "PYTHONOPTIMIZE": "2",
        "PYTEST_ADDOPTS": "-W ignore::pytest.PytestConfigWarning",
    },
    "strict": {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
    "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    # nobody can make a folder in there, not even root
    "homeless": {"HOME": f"{os.devnull}/home", "XDG_CACHE_HOME": f"{os.devnull}/cache"},
    "unwritable": {},
    "oldest": {},
}


@nox.session
@nox.parametrize("surrounding", list(SURROUNDINGS), ids=list(SURROUNDINGS))
def surroundings(session: nox.Session, surrounding: str) -> None:
    """Run one test in forty in unusual surroundings, or with the oldest releases allowed.

    ``nox -s "surroundings(ascii)"`` runs one. Arguments go to pytest.
    """
    environment = {"TINYJAX_SAMPLE": session.env.get("TINYJAX_SAMPLE") or "40"}
    environment |= SURROUNDINGS[surrounding]
    quick = ("-m", "not fuzz and not browser and not slow", *session.posargs)
    if surrounding == "oldest":
        bounds = (re.match(r"([\w-]+)>=([\d.]+)", x) for x in PROJECT["project"]["dependencies"])
        oldest = {bound[1]: bound[2] for bound in bounds if bound}
        tools = nox.project.dependency_groups(PROJECT, "test", "examples")
        wanted = [x for x in tools if re.split("[=<>]", x)[0] not in oldest]
        pinned = (f"{name}=={version}" for name, version in oldest.items())
        python = apart(session, "oldest", *pinned, *wanted)
        session.run(python, "-m", *SUITE, *quick, env=environment)
        return
    install(session, ".", "test", "examples", "types")
    command = [str(PROGRAMS / "pytest"), *SUITE[1:], *quick]
    if surrounding == "unwritable":
        command = [*_unwritable(session), *command]
        environment["PYTHONPATH"] = str(Path(".nox", "unwritable").absolute())
    session.run(*command, env=environment, external=True)


def _unwritable(session: nox.Session) -> list[str]:
    """Install the package where nothing can be written, and say what a command starts with.

    To root all is writable; so root goes without the capability to ignore permissions.
    """
    folder = Path(".nox", "unwritable")
    if folder.exists():
        session.run_install("chmod", "-R", "u+w", str(folder), external=True)
        shutil.rmtree(folder)
    pip(session, str(PROGRAMS / "python"), "--no-deps", "--target", str(folder), ".")
    session.run_install("chmod", "-R", "a-w", str(folder), external=True)
    return [] if os.geteuid() else ["setpriv", "--bounding-set=-dac_override"]


#: Programs of examples/ that need one device.
ON_ONE_DEVICE = sorted(
    {path.name for path in Path("examples").glob("*.py")} - {"train_distributed.py"}
)


@nox.session
def without_jaxlib(session: nox.Session) -> None:
    """Run what the documents and examples do where jaxlib cannot be loaded: NumPy does all of it.

    Programs that ask for compiled ones are left out. Arguments go to pytest.
    """
    install(session, ".", "test", "examples")
    evaluated = ("-k", "not exported and not lowered and not aot-stages and not aot-without_data")
    options = ("-p", "tools.without_jaxlib", "-W", "ignore:jaxlib:UserWarning", *evaluated)
    documents = ("tests/seeds", "tests/house/test_tutorials.py", *session.posargs)
    run(session, *SUITE, *options, *documents, env=TESTS | {"TINYJAX_TIER": "first"})
    for name in ON_ONE_DEVICE:
        run(session, "python", "tests/tools/without_jaxlib.py", f"examples/{name}")


@nox.session
def bench(session: nox.Session) -> None:
    """Measure tinyjax beside JAX, autograd and PyTorch. Arguments go to the benchmarks."""
    install(session, ".", "bench")
    run(session, "python", "-m", "benchmarks", *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    """Measure programs and loops of Python beside NumPy, Numba and JAX, and the least loops of XLA.

    Numba has an environment of its own. Arguments go to the benchmark: names of programs, too.
    """
    python = apart(session, "peers", *nox.project.dependency_groups(PROJECT, "peers"))
    session.run(python, "-m", "benchmarks.peers", *session.posargs)


@nox.session
def scripts(session: nox.Session) -> None:
    """Measure whole scripts beside JAX, in both tiers. Arguments name some."""
    install(session, ".", "bench")
    run(session, "python", "-m", "benchmarks.scripts", *session.posargs)


@nox.session
def growth(session: nox.Session) -> None:
    """Measure how time grows with the size and the depth of programs."""
    install(session, ".", "bench")
    run(session, "python", "-m", "benchmarks.growth", *session.posargs)


@nox.session
def accuracy(session: nox.Session) -> None:
    """Measure the errors of special functions; arguments name some. It takes some minutes."""
    install(session, ".", "test")
    run(session, "python", "-m", "numerics.accuracy", *session.posargs, env=TESTS)


@nox.session
def memory(session: nox.Session) -> None:
    """Measure what a million calls on each path of dispatch leave in memory, beside JAX."""
    install(session, ".", "bench")
    run(session, "python", "-m", "benchmarks.memory", *session.posargs)


@nox.session
def compare(session: nox.Session) -> None:
    """Compare two commits: their programs, and their speed; ``nox -s compare -- main .``.

    ``.`` is the working tree. With ``--programs`` nothing is measured.
    """
    install(session, ".", "bench")
    run(session, "python", "-m", "benchmarks.compare", *session.posargs)


@nox.session
def libraries(session: nox.Session) -> None:
    """Run libraries written for JAX, as they are, and compare with jax. Arguments go to pytest."""
    run_apart(session, "libraries")


@nox.session
def packages(session: nox.Session) -> None:
    """Run functions of packages written for NumPy, as they are, by ``tinyjax.source.capture``.

    Without arguments it runs the programs of the gallery that call packages, too.

    It fails where a check is not right that was when the table was written. Arguments name packages
    or sets; ``--write`` writes the table, and docs/packages.md.
    """
    python = apart(session, "packages", *nox.project.dependency_groups(PROJECT, "packages"))
    pip(session, python, "--no-deps", *nox.project.dependency_groups(PROJECT, "packages-apart"))
    session.run(python, "-W", "ignore", "-m", "packages", *session.posargs, env=TESTS)
    if not session.posargs:
        both = {"PYTHONPATH": os.pathsep.join(("tests", "examples"))}
        session.run(python, "-W", "ignore", "-m", "packages.pages", env=both)


@nox.session
def scipy(session: nox.Session) -> None:
    """Run SciPy's own tests of the array API, as on JAX. Arguments go to pytest."""
    install(session, ".", "test")
    apart = ("-c", os.devnull, "--rootdir", session.create_tmp(), "-p", "no:cacheprovider")
    few = ("-m", "array_api_backends", "-q", "--tb", "line", "--pyargs", "scipy")
    setting = {"SCIPY_ARRAY_API": '["jax.numpy"]'}
    run(session, "pytest", "-p", "tinyjax.as_jax", *apart, *few, *session.posargs, env=setting)


@nox.session
def notebooks(session: nox.Session) -> None:
    """Run a notebook in a fresh kernel, and look at what it shows. Arguments go to pytest."""
    run_apart(session, "notebooks")


@nox.session
def cuda_compile(session: nox.Session) -> None:
    """Compile every row of tests/specs for an H100, without one. Arguments are names of rows.

    XLA's plugin and its assembler, 1 GB, have an environment of their own.
    """
    python = apart(session, "cuda", *nox.project.dependency_groups(PROJECT, "cuda"))
    plugin = nox.project.dependency_groups(PROJECT, "cuda-plugin")
    pip(session, python, "--no-deps", *plugin)
    session.run(python, "tests/tools/cuda_compile.py", *session.posargs, env=TESTS)


@nox.session
def frozen(session: nox.Session) -> None:
    """Freeze a program by PyInstaller, and run it. Arguments go to PyInstaller."""
    python = apart(session, "frozen", *nox.project.dependency_groups(PROJECT, "frozen"))
    session.run(python, "tests/tools/frozen.py", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Build the package twice, look at it, and run it on every Python and jaxlib of ``versions``.

    What is built is the last commit, into build/release. Pythons that are not on the path are
    named. Arguments name some environments, such as python3.12-jaxlib0.10.2.
    """
    install(session, "release")
    folder = Path("build", "release").absolute()
    run(session, "python", "-m", "release.build", str(folder), env=TESTS)
    missing = []
    (jax,) = (x for x in nox.project.dependency_groups(PROJECT, "test") if x.startswith("jax=="))
    table = {"current": (sys.executable, (jax.replace("jax", "jaxlib"), jax))}
    for name, (maker, wanted) in (table | VERSIONS).items():
        found = interpreter(maker)
        if found is None:
            missing.append(name)
        elif not session.posargs or name in session.posargs:
            released(session, folder, name, found, wanted)
    if missing:
        session.warn(f"left out, since their Pythons are not on the path: {', '.join(missing)}")


def released(
    session: nox.Session, folder: Path, name: str, maker: str, wanted: tuple[str, ...]
) -> None:
    """Install the wheel, and then the sdist, in a fresh environment, and run each."""
    environment = Path(".nox", "release").absolute()
    python = str(environment / FOLDER / "python")
    tools = nox.project.dependency_groups(PROJECT, "released")
    check = (python, "-P", "tests/release/installed.py")
    jaxlib, _ = wanted
    for pattern, kinds in (("*.whl", ("programs", "types")), ("*.tar.gz", ("programs",))):
        (built,) = folder.glob(pattern)
        session.run_install(sys.executable, "-m", "virtualenv", "--clear", "-p", maker, environment)
        pip(session, python, str(built), jaxlib)
        session.run(*check, "modules")
        pip(session, python, *wanted, *tools)
        session.run(*check, *kinds)
        if name == "current" and pattern == "*.whl":
            pip(session, python, *nox.project.dependency_groups(PROJECT, "frozen"))
            session.run(python, "tests/tools/frozen.py")
        session.log(f"{name}: {built.name} runs")
    shutil.rmtree(environment)


@nox.session
def jaxtyping(session: nox.Session) -> None:
    """Check jaxtyping's annotations by typeguard 2, which it works with; other tests have 4."""
    install(session, ".", "test")
    old = Path(".nox", "typeguard2").absolute()
    if not old.exists():
        where = ("--no-deps", "--target", str(old), "typeguard==2.13.3")
        pip(session, str(PROGRAMS / "python"), *where)
    run(session, "pytest", "-n", "0", "tests/house/test_jaxtyping.py", env={"PYTHONPATH": str(old)})


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation as a site in build/site; a broken link or example is an error."""
    install(session, ".", "docs")
    run(session, "python", "-m", "website", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Train a classifier of handwritten digits: the first thing to run."""
    install(session, ".", "examples")
    run(session, "python", "examples/digits.py", *session.posargs)


@nox.session
def tour(session: nox.Session) -> None:
    """Walk through everything tinyjax does, printing as it goes."""
    install(session, ".", "examples")
    run(session, "python", "examples/tour.py", *session.posargs)


@nox.session
def typing(session: nox.Session) -> None:
    """Ask five type checkers what they make of right and wrong programs."""
    install(session, ".", "checkers")
    path = os.pathsep.join((str(PROGRAMS), os.environ.get("PATH", "")))
    run(session, "python", "tests/tools/checkers.py", *session.posargs, env={"PATH": path})


@nox.session
def verifytypes(session: nox.Session) -> None:
    """Ask pyright whether every public name has a complete type."""
    install(session, ".", "pyright")
    run(session, "pyright", "--verifytypes", "tinyjax", "--ignoreexternal", *session.posargs)
