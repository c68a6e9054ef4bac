"""Shell completion: names for the typed text, as each shell asks for them, and silence on errors."""

import os
import pty
import re
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lineage_merge.cli.completion_reading import (
    Location,
    column_names,
    dags,
    dataset_names,
    environments,
    job_names,
    read_ids,
)
from tests import lineage_made
from tests.command_line import PROGRAM, clean_environment
from tests.lineage_made import at, col
from tests.snapshots import write_graph

SALES = "dev|s3://raw|tickit/sales"
OTHER_SALES = "dev|s3://lake|tickit/sales"
TABLE = "dev|redshift://wh:5439|dev.public.orders"
TABLE_ELSEWHERE = "dev|redshift://other:5439|dev.public.orders"
JOB = "dev|daily|spark|loader"


def complete(line: str, *, shell: str = "bash", seconds: str = "30", **variables: str) -> list[str]:
    """Return the values that the program completes at the end of a line; it must print nothing else.

    `seconds`: limit of reading names, which a busy machine may exceed if it is the default, "".
    """
    words = line.split(" ")
    asked = {
        "bash": {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_BREAKS": " \t\n\"'@><=;|&(:"},
        "zsh": {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        "fish": {"COMP_WORDS": line, "COMP_CWORD": words[-1]},
    }[shell]
    done = subprocess.run(
        [PROGRAM],
        env=clean_environment(
            _LINEAGE_MERGE_COMPLETE=f"{shell}_complete",
            LINEAGE_MERGE_COMPLETION_SECONDS=seconds,
            **asked,
            **variables,
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = done.stdout.splitlines()
    if shell == "zsh":  # type, value and description are lines of their own
        return [value for kind, value in zip(rows[::3], rows[1::3], strict=False) if kind == "plain"]
    return [row.partition(",")[2].partition("\t")[0] for row in rows if row.startswith("plain,")]


# ---- forms of names


def test_a_dataset_is_completed_by_its_shortest_unique_name() -> None:
    assert dataset_names([SALES, TABLE], "") == ["orders", "sales"]
    assert dataset_names([SALES, OTHER_SALES], "") == ["s3://lake/tickit/sales", "s3://raw/tickit/sales"]
    assert dataset_names([TABLE, TABLE_ELSEWHERE], "") == [
        "redshift://other:5439|dev.public.orders",
        "redshift://wh:5439|dev.public.orders",
    ]


def test_the_typed_text_selects_the_form() -> None:
    ids = [SALES, OTHER_SALES, TABLE]
    assert dataset_names(ids, "dev.pub") == ["dev.public.orders"]
    assert dataset_names(ids, "redshift:") == ["redshift://wh:5439|dev.public.orders"]
    assert dataset_names(ids, "s3://raw/t") == ["s3://raw/tickit/sales"]
    assert dataset_names(ids, "sales") == []  # not unique


def test_encoded_parts_are_decoded() -> None:
    assert dataset_names(["dev|file|a%7Cb/100%25"], "") == ["100%"]


def test_columns_follow_the_name_of_their_dataset() -> None:
    columns = [f"{SALES}|price", f"{SALES}|Prior", f"{SALES}|date", f"{TABLE}|price"]
    assert column_names([SALES, TABLE], columns, "sales#pri") == ["sales#Prior", "sales#price"]
    assert column_names([SALES, TABLE], columns, "s3://raw/tickit/sales#d") == ["s3://raw/tickit/sales#date"]
    assert column_names([SALES, OTHER_SALES], columns, "sales#") == []


def test_jobs_environments_and_dags_come_from_jobs() -> None:
    jobs = [JOB, "prod|daily|spark|loader", "dev|weekly|dbt|model.a"]
    assert job_names(jobs, "") == sorted([JOB, "prod|daily|spark|loader", "model.a"])
    assert environments(jobs, "") == ["dev", "prod"]
    assert environments(jobs, "p") == ["prod"]
    assert dags(jobs, "") == ["daily", "weekly"]


# ---- reading of ids


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made pipeline as an embedded graph."""
    made = lineage_made.pipeline()
    return write_graph(tmp_path_factory.mktemp("graph") / "graph", made.nodes.values(), made.edges.values())


LATER = 60.0


def ids_at(location: Location, typed: str = "", seconds: float = LATER) -> dict[str, list[str]]:
    found = read_ids(location, ("dataset", "column", "job"), typed, time.monotonic() + seconds)
    return {kind: sorted(ids) for kind, ids in found.items()}


@pytest.mark.jvm
def test_file_folder_and_server_have_the_same_ids(
    graph_file: Path, pipeline_folder: str, pipeline_url: str
) -> None:
    locations = (
        Location(graph_file=graph_file),
        Location(folder=Path(pipeline_folder)),
        Location(gremlin={"endpoint": pipeline_url}),
    )
    found = [ids_at(each) for each in locations]
    assert found[0] == found[1] == found[2]
    assert at("z") in found[0]["dataset"]
    assert col("e", "total") in found[0]["column"]
    assert "dev|daily|spark|side" in found[0]["job"]


@pytest.mark.jvm
def test_a_parquet_folder_is_read(tickit_folder: Path) -> None:
    assert "dev|s3://tickit-lake|sales_dl" in ids_at(Location(folder=tickit_folder))["dataset"]


@pytest.mark.jvm
def test_a_server_selects_by_the_typed_text(pipeline_url: str) -> None:
    def names(typed: str) -> Sequence[str]:
        ids = ids_at(Location(gremlin={"endpoint": pipeline_url}), typed)
        return [*ids["dataset"], *ids["column"]]

    assert set(names("a#")) == {
        *(at("a", each) for each in ("dev", "prod")),
        *(col("a", each) for each in ("day", "id")),
        *(col("a", each, "prod") for each in ("id", "extra")),
    }
    assert {each.split("|")[1] for each in names("s3://ra")} == {"s3://raw"}
    assert names("nothing") == []


def test_reading_ends_at_the_deadline(tmp_path: Path) -> None:
    rows = ({"id": f"dev|s3://b|d{each}", "label": "file"} for each in range(10_000))
    file = write_graph(tmp_path / "graph", rows)

    assert len(ids_at(Location(graph_file=file))["dataset"]) == 10_000
    assert ids_at(Location(graph_file=file), seconds=-1)["dataset"] == []


def test_ids_with_quotes_are_unescaped(tmp_path: Path) -> None:
    name = 'dev|s3://b|a "b" \\ é'
    file = write_graph(tmp_path / "graph", [{"id": name, "label": "file"}])

    assert ids_at(Location(graph_file=file))["dataset"] == [name]


# ---- the program


def test_options_and_arguments_get_names_of_the_graph(graph_file: Path) -> None:
    own = {"LINEAGE_MERGE_GRAPH_FILE": str(graph_file)}

    assert complete("lineage-merge datasets --environment p", **own) == ["prod"]
    assert complete("lineage-merge jobs --dag d", **own) == ["daily"]
    assert complete("lineage-merge impact --environment dev sid", **own) == ["side"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_commands_and_names(graph_file: Path, shell: str) -> None:
    own = {"LINEAGE_MERGE_GRAPH_FILE": str(graph_file)}

    assert complete("lineage-merge upstr", shell=shell, **own) == ["upstream"]
    assert complete("lineage-merge upstream --environment dev e#", shell=shell, **own) == ["e#total"]


def test_the_typed_options_select_the_graph(graph_file: Path, pipeline_folder: str, tmp_path: Path) -> None:
    home = {"LINEAGE_MERGE_HOME": str(tmp_path)}
    shutil.copytree(graph_file, tmp_path / "demo", symlinks=True)

    def of(options: str) -> list[str]:
        return complete(f"lineage-merge upstream {options} --environment dev e", **home)

    assert of("") == []
    assert of("--demo") == of(f"--graph-file {graph_file}") == of(f"--folder {pipeline_folder}") == ["e"]


@pytest.mark.jvm
def test_the_configuration_selects_the_graph(pipeline_url: str, tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text(f"environment: prod\ngremlin: {{endpoint: '{pipeline_url}'}}\n")

    assert complete(f"lineage-merge downstream -c {file} s3://raw") == ["//raw/in"]


@pytest.mark.parametrize(
    "line",
    [
        "lineage-merge upstream --folder missing ",
        "lineage-merge upstream --graph-file missing ",
        "lineage-merge upstream -c missing.yml --demo ",
        "lineage-merge upstream --gremlin-endpoint ws://127.0.0.1:1/gremlin ",
        "lineage-merge upstream --gremlin-endpoint nonsense ",
    ],
)
def test_errors_complete_nothing(line: str, tmp_path: Path) -> None:
    assert complete(line, LINEAGE_MERGE_HOME=str(tmp_path)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["graph", "graph/current/nodes/part-0.parquet"])
def test_a_damaged_graph_completes_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(b'\xff\xfe{"id":"dev|\x00\n[1]\n')
    assert complete("lineage-merge upstream ", LINEAGE_MERGE_HOME=str(tmp_path)) == []


def test_a_server_without_response_delays_for_a_moment_only() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"ws://127.0.0.1:{silent.getsockname()[1]}/gremlin"
        started = time.monotonic()
        assert complete(f"lineage-merge upstream --gremlin-endpoint {address} ", seconds="") == []
        waited = time.monotonic() - started
    started = time.monotonic()
    assert (
        complete(f"lineage-merge upstream --gremlin-endpoint {address} ", seconds="") == []
    )  # refused at once
    # The driver's own limit is 10 s.
    assert waited - (time.monotonic() - started) < 8


@pytest.fixture(scope="module")
def bash(graph_file: Path) -> Iterator[int]:
    """An interactive bash with completion; yields its terminal."""
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    variables = {
        "LINEAGE_MERGE_GRAPH_FILE": str(graph_file),
        "LINEAGE_MERGE_COMPLETION_SECONDS": "20",
        "PS1": "$ ",
        "TERM": "dumb",
    }
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], clean_environment(PATH=path, **variables))
    try:
        os.write(terminal, b'eval "$(_LINEAGE_MERGE_COMPLETE=bash_source lineage-merge)"; echo rea""dy\n')
        read_until(terminal, r"ready\r")
        yield terminal
    finally:
        os.write(terminal, b"\x03exit\n")
        os.close(terminal)
        os.waitpid(child, 0)


def read_until(terminal: int, pattern: str) -> str:
    text, deadline = "", time.monotonic() + 30
    while not re.search(pattern, text):
        assert time.monotonic() < deadline, text
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 4096).decode(errors="replace")
    return text


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("lineage-merge upst", "lineage-merge upstream "),
        ("lineage-merge upstream --environment prod s3://raw/i", "s3://raw/in "),
        ("lineage-merge upstream --environment dev redshift://wh:5439|zz", "5439|zz"),
        ("lineage-merge upstream --environment dev e#t", "e#total "),
    ],
)
def test_the_tab_key_completes_in_bash(bash: int, typed: str, completed: str) -> None:
    os.write(bash, f"\x15{typed}\t".encode())  # Ctrl-U deletes what was typed before
    read_until(bash, re.escape(completed))
