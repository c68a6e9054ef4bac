"""The matrix of versions, and what a release is made and checked with: docs/supply_chain.md.

    pip install 'nox[uv]'
    nox --list
    nox -s "matrix-3.12(spark='3.5', versions='oldest')"              # one cell
    nox -s matrix -- full                                             # every cell, the whole suite in each
    nox -s matrix -- tests/exporters -k openlineage                       # every cell, some tests

Environments are made by uv, with the index that it is set up for.
"""

import datetime
import os
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["lock_check", "wheel", "matrix"]

PYTHONS = ["3.11", "3.12", "3.13"]
# What releases are made with: the page of licences is for this one too.
PYTHON = "3.12"
SPARKS = {"3.5": "pyspark>=3.5.1,<4", "4": "pyspark>=4,<5"}
# Of EMR 8 and of Glue 6, with the Iceberg and Delta of tests/locks.
SPARK_4 = ("4.0.1", "4.1.1")
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
LOCK = "supply_chain/requirements.txt"
TOOLS = "supply_chain/tools.txt"
# Images of Amazon MWAA and their Pythons; the Airflow tests run in those of `MWAA_RUN`, one of each line.
MWAA = {
    "2.10.1": "3.11",
    "2.10.3": "3.11",
    "2.11.0": "3.12",
    "2.11.2": "3.12",
    "3.0.6": "3.12",
    "3.2.1": "3.12",
    "3.3.1": "3.12",
}
MWAA_RUN = ("2.10.3", "2.11.2", "3.0.6", "3.3.1")
# The Airflows of CI and `nightly`, with the pins of tests/airflow/pins.
AIRFLOWS = ("2.11.2", "3.0.6")
GREMLIN_CLIENTS = ["3.7.1", "3.7.7", "3.8.1", "3.8.2"]
GREMLIN_SERVERS = ["3.7.4", "3.8.1"]
# What goes to a graph: every request of the package, over real connections.
GREMLIN_TESTS = ["tests/load", "tests/questions/test_query_grammar.py", "tests/questions/test_round_trips.py"]
# Advisories that were read and are not about us: each with its reason.
NOT_OURS = {
    # Reported for the JavaScript library json-logic-js; the Python one of like name comes with DataHub's
    # mixpanel.
    "PYSEC-2023-209",
}
USERS = "columns,datahub,docs,lambda,local,mcp,notebook,openlineage,otel,parquet,receive,spark"

# In each cell, after the smoke test: tests that touch every direct dependency.
TESTS = [
    "tests/test_config.py",  # PyYAML, jsonschema
    "tests/test_secrets_manager.py",  # boto3, moto
    "tests/test_arango_standin.py",  # python-arango, lark
    "tests/graph_format",  # pyspark
    "tests/capture/test_capture_graph.py",  # pyspark's own plans
    "tests/load/test_loader.py",  # gremlinpython
    "tests/questions/test_query_files.py",  # pyarrow
    "tests/sources/dbt/test_dbt_columns_sql.py",  # sqlglot
    "tests/exporters",  # acryl-datahub, openlineage-python
    "tests/receive/test_receive_requests.py",  # starlette, uvicorn
    "tests/receive/test_receive_lambda.py",  # mangum
    "tests/mcp",  # mcp
    "tests/telemetry",  # opentelemetry
    "tests/test_deploy.py",  # cfn-lint
    "tests/test_site.py",  # mkdocs, mkdocs-material
    "tests/cli/test_cli_outcomes.py",  # click, rich
]


@nox.session(python=PYTHONS)
@nox.parametrize("versions", list(RESOLUTIONS))
@nox.parametrize("spark", list(SPARKS))
def matrix(session: nox.Session, spark: str, versions: str) -> None:
    """The smoke test and tests, with the oldest or newest versions that pyproject.toml allows."""
    pins = Path(session.create_tmp(), "pins.txt")
    override = pins.with_name("override.txt")
    # The extra `spark` names one line of PySpark for a Python, a cluster may have the other.
    override.write_text(f"{_lowest(SPARKS[spark]) if versions == 'oldest' else SPARKS[spark]}\n")
    words = [
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--no-header",
        "--no-annotate",
        "--upgrade",
        "--extra",
        "test",
    ]
    words += ["--resolution", RESOLUTIONS[versions], "--override", str(override), "--output-file", str(pins)]
    session.run_install(*words, "--python", session.virtualenv.location, "pyproject.toml", external=True)
    session.install("-r", str(pins))
    # The wheel for the smoke test; the tests are of the checkout.
    session.install("--no-deps", "--reinstall", str(_wheel(session)))
    session.run("python", "-I", "supply_chain/smoke.py", "--extras", "local")
    session.install("--no-deps", "--editable", ".")
    chosen = list(session.posargs) or TESTS
    session.run("python", "-m", "pytest", *([] if chosen == ["full"] else chosen))


@nox.session(python=PYTHON)
@nox.parametrize("server", GREMLIN_SERVERS)
@nox.parametrize("client", GREMLIN_CLIENTS)
def gremlin(session: nox.Session, client: str, server: str) -> None:
    """The tests that talk to a graph, with one version of gremlinpython and one of Gremlin Server."""
    override = Path(session.create_tmp(), "override.txt")
    override.write_text(f"gremlinpython=={client}\n")
    session.install("--override", str(override), "--editable", ".[test]")
    environment = {"LINEAGE_MERGE_TEST_GREMLIN_SERVER": server}
    session.run("python", "-m", "pytest", *(session.posargs or GREMLIN_TESTS), env=environment)


@nox.session
@nox.parametrize(("python", "image"), [(python, image) for image, python in MWAA.items()], ids=list(MWAA))
def mwaa(session: nox.Session, image: str) -> None:
    """Resolve the package beside Airflow with the pins of an MWAA image; in some run the Airflow tests."""
    python = MWAA[image]
    wanted = Path(session.create_tmp(), "airflow.in")
    wanted.write_text(f"apache-airflow=={image}\napache-airflow-providers-amazon\n")
    pins = f"tests/airflow/mwaa/{image}-py{python}.txt"
    words = ["uv", "pip", "compile", "--quiet", "--no-header", "--python-version", python]
    words += ["--constraint", pins, "--output-file", str(wanted.with_name("resolved.txt"))]
    session.run_install(*words, "pyproject.toml", str(wanted), external=True)
    if image in MWAA_RUN:
        session.run("python", "tests/airflow/check_dag.py", "--mwaa", "--airflow", image, *session.posargs)


@nox.session(python=PYTHON)
def nightly(session: nox.Session) -> None:
    """The suite with every drawn case, more examples, chaos, Airflows, benchmarks, other environments."""
    session.install("--editable", ".[test]")
    seed = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d")
    seed = os.environ.get("LINEAGE_MERGE_TEST_SEED") or seed
    variables = {"LINEAGE_MERGE_TEST_SEED": seed, "LINEAGE_MERGE_TEST_SHARE": "1"}
    session.run("python", "-m", "pytest", *session.posargs, env=variables)
    # The properties draw the same examples each time unless more are asked for.
    more = {**variables, "LINEAGE_MERGE_EXAMPLES": "5"}
    session.run("python", "-m", "pytest", "tests/properties", env=more)
    session.run("python", "-m", "tests.experiment", "--seed", seed, "--statements", "10000")
    session.run("python", "-m", "tests.experiment", "--spark", "--seed", seed, "--statements", "300")
    for corpus in ("tpch", "tpcds"):
        session.run("python", "-m", "tests.experiment.corpora", corpus)
        session.run("python", "-m", "tests.experiment.corpora", corpus, "--client", "event_log")
    session.run("python", "-m", "tests.chaos", "--rounds", "20", "--seed", seed)
    airflows = ["tests/airflow/check_dag.py", "--airflow", *AIRFLOWS]
    session.run("python3.11", *airflows, external=True)
    checks = ("notebook.check_notebook", "sources.openlineage.check_listener")
    for check in (*checks, "capture.check_lakehouse"):
        session.run("python", "-m", f"tests.{check}")
    for spark in SPARK_4:
        session.run("python", "-m", "tests.capture.check_spark4", "--spark", spark)
    session.run("python", "-m", "tests.capture.check_lakehouse", "--spark", SPARK_4[-1])
    session.run("python", "-m", "benchmarks", "--smallest")


@nox.session(python=PYTHON)
def mutation(session: nox.Session) -> None:
    """Damage `merge`, `load` and `column_lineage` in a sample of places: how many defects the tests find."""
    session.install("--editable", ".[test]", "cosmic-ray>=8.4,<9")
    session.run("python", "-m", "tests.mutation", *session.posargs)


@nox.session(python=PYTHONS)
def wheel(session: nox.Session) -> None:
    """The wheel in an empty environment: alone, then with `local`, in the versions of the lock."""
    built = _wheel(session)
    session.install("--constraint", LOCK, str(built))
    session.run("python", "-I", "supply_chain/smoke.py", "--extras", "base")
    session.install("--constraint", LOCK, f"lineage-merge[local] @ {built.absolute().as_uri()}")
    session.run("python", "-I", "supply_chain/smoke.py", "--extras", "local")


@nox.session(python=False)
def lock(session: nox.Session) -> None:
    """Write the lock files; `-- --upgrade` for the newest of everything."""
    session.run("python3", "-m", "supply_chain.lock", *session.posargs)


@nox.session(python=False)
def lock_check(session: nox.Session) -> None:
    """Whether the lock files fit pyproject.toml, with all that packages need in turn."""
    session.run("python3", "-m", "supply_chain.lock", "--check")


@nox.session(python=False)
def reproducible(session: nox.Session) -> None:
    """Wheel and sdist into dist/, from two clean clones that must give the same bytes."""
    session.run("python3", "-m", "supply_chain.reproducible", *session.posargs)


@nox.session(python=PYTHON)
def distribution(session: nox.Session) -> None:
    """Check wheel and sdist in dist/ as PyPI does, and that the wheel has the package and nothing else."""
    session.install("--constraint", TOOLS, "twine", "check-wheel-contents")
    built = [str(path) for pattern in ("*.whl", "*.tar.gz") for path in Path("dist").glob(pattern)]
    if len(built) != 2:
        session.error(f"dist/ must have one wheel and one sdist, not {built}: run the session reproducible")
    session.run("twine", "check", "--strict", *built)
    session.run("check-wheel-contents", "--toplevel", "lineage_merge", built[0])


@nox.session(python=PYTHON, venv_params=["--seed"])
def image(session: nox.Session) -> None:
    """The folder that docker/Dockerfile is built from, dist/image; installs it without a network."""
    session.install("--constraint", LOCK, "--editable", ".")
    session.run("python", "-m", "supply_chain.image", str(_wheel(session)), *session.posargs)


@nox.session(python=PYTHON)
def licences(session: nox.Session) -> None:
    """Write docs/licences.md; `-- --check` says whether it would change. A new licence fails."""
    _locked(session)
    session.install("--constraint", TOOLS, "pip-licenses")
    python = str(Path(session.bin, "python"))
    session.run("python", "-m", "supply_chain.licences", "--python", python, *session.posargs)


@nox.session(python=PYTHON)
def sbom(session: nox.Session) -> None:
    """The bill of materials of an installation with every extra of users: dist/lineage-merge.cdx.json."""
    _locked(session)
    environment = session.virtualenv.location
    tools = Path(session.create_tmp(), "tools")
    session.run_install("uv", "venv", "--quiet", "--clear", "--python", PYTHON, str(tools), external=True)
    install = ["uv", "pip", "install", "--quiet", "--python", str(tools), "--constraint", TOOLS]
    session.run_install(*install, "cyclonedx-bom", external=True)
    Path("dist").mkdir(exist_ok=True)
    words = [
        "environment",
        "--pyproject",
        "pyproject.toml",
        "--output-reproducible",
        "--output-format",
        "JSON",
    ]
    program = str(tools / "bin" / "cyclonedx-py")
    session.run(program, *words, "--output-file", "dist/lineage-merge.cdx.json", environment, external=True)


@nox.session(python=PYTHON)
def audit(session: nox.Session) -> None:
    """Known vulnerabilities of what is locked, asked of PyPI; fails where PyPI has no answer for one."""
    session.install("--constraint", TOOLS, "pip-audit")
    # Without --strict a package of which the service knows nothing passes with a remark.
    words = ["--strict", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    words += [word for each in sorted(NOT_OURS) for word in ("--ignore-vuln", each)]
    session.run("pip-audit", *words, "--requirement", LOCK, *session.posargs)


@nox.session(python="3.11")
def audit_offline(session: nox.Session) -> None:
    """The same of a list that PyPI has as a package, of July 2021: where no service can be reached."""
    session.install("safety==2.3.5", "safety-db==2021.7.17", "setuptools<81")
    # Not by importing it: that works in one folder only.
    where = (
        "from importlib.util import find_spec; print(find_spec('safety_db').submodule_search_locations[0])"
    )
    data = str(session.run("python", "-c", where, silent=True)).strip()
    session.warn("advisories up to July 2021 only: this does not stand for `nox -s audit`")
    session.run("safety", "check", "--file", LOCK, "--db", data, "--output", "text")


def _locked(session: nox.Session) -> None:
    """The package with every extra of users, in the versions of the lock."""
    session.install("--constraint", LOCK, f"lineage-merge[{USERS}] @ {_wheel(session).absolute().as_uri()}")


def _wheel(session: nox.Session) -> Path:
    """A wheel of the checkout as it is."""
    given = os.environ.get("LINEAGE_MERGE_WHEEL")
    if given:
        return Path(given)
    folder = Path(tempfile.mkdtemp(dir=session.create_tmp()))
    words = ["uv", "build", "--quiet", "--wheel", "--build-constraints", TOOLS, "--require-hashes"]
    session.run_install(*words, "--out-dir", str(folder), external=True)
    (found,) = folder.glob("*.whl")
    return found


def _lowest(requirement: str) -> str:
    """The requirement with its lower bound alone: an override is not resolved to the lowest by itself."""
    return requirement.partition(",")[0].replace(">=", "==")
