"""Names that are programs elsewhere: through the build and the graph into every format and the page."""

import csv
import gzip
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.graph_format import files
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.folder import read_folder
from tests.command_line import in_process
from tests.sources.openlineage.made_events import dataset, event, write_lines

pytestmark = pytest.mark.jvm

NAMES = (
    "'); g.V().drop() //",
    '");g.V().drop().iterate();//',
    "g.V().drop()",
    "${new File('/').list()}",
    "<script>window.hacked=1</script>",
    "</script><img src=x onerror=window.hacked=1>",
    "<!--lineage:data-->",
    "javascript:window.hacked=1",
    'a"]; b --> c',
    "end",
    "`x` | **y** [z](javascript:alert(1))",
    '"; rank=same; x [URL="javascript:1"]; "',
    "%%{init: {'securityLevel': 'loose'}}%% click x href",
    "%7C|%25|",
    "{{7*7}} {0} %s $&",
    "two\nlines\ttab",
    "\x1b[31mred\x07",
    "=cmd|' /C calc'!A0",
    "half \ud800",
    "\u202etxt.exe",
)
_PLACE = "custom://host"


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `build` makes of jobs, datasets and columns of these names."""
    path = tmp_path_factory.mktemp("hostile")
    events = []
    for number, name in enumerate(NAMES):
        source = {"namespace": _PLACE, "name": f"in/{name}", "field": name}
        columns = {"columnLineage": {"fields": {name: {"inputFields": [source]}}}}
        facets = columns | {"schema": {"fields": [{"name": name, "type": name, "description": name}]}}
        events.append(
            event(
                "COMPLETE",
                "06:00",
                name,
                f"run{number}",
                inputs=[{"namespace": _PLACE, "name": f"in/{name}"}],
                outputs=[{**dataset("x|y", facets), "namespace": _PLACE, "name": f"out/{name}"}],
            )
        )
    write_lines(path / "events.jsonl", events)
    settings = {
        "dag_name": "daily",
        "environment": "dev",
        "openlineage": {"events": [str(path / "events.jsonl")]},
    }
    built = pipeline.build(spark, CONFIGURATION.parse(settings))
    assert {each.kind for each in built.report.problems} == {"no-consumer"}
    path.joinpath("c.yml").write_text(json.dumps(settings))
    files.write(spark, str(path / "built"), built.nodes, built.edges, "jsonl")
    return path / "built"


def whole(name: str) -> str:
    """A name as Spark keeps it: half of a character becomes a mark."""
    return re.sub("[\ud800-\udfff]", "\ufffd", name)


def test_every_name_is_in_the_graph_as_it_is(
    spark: SparkSession, folder: Path, gremlin_url: str, gremlin: GraphTraversalSource
) -> None:
    gremlin.add_v("sentinel").property("id", "sentinel").to_list()

    done = in_process("load", folder, "-c", folder.parent / "c.yml", "--gremlin-endpoint", gremlin_url, "-q")

    assert done.code == 0, done
    for label in ("job", "column"):
        found = set(gremlin.V().has_label(label).values("name").to_list())
        assert {whole(name) for name in NAMES} == found
    expected = {each.id for each in read_folder(str(folder)).everything() if isinstance(each, Vertex)}
    assert expected <= set(gremlin.V().id_().to_list())
    assert gremlin.V().has_label("sentinel").count().next() == 1
    assert gremlin.E().has_label("feeds").count().next() == len(NAMES)


def _words(folder: Path, name: str, form: str) -> str:
    done = in_process(
        "downstream", f"{_PLACE}|in/{whole(name)}", "--folder", folder, "--format", form, "--columns"
    )
    assert done.code == 0, done
    return done.out


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_question_names_it_in_every_format_and_no_line_is_of_its_making(folder: Path, name: str) -> None:
    plain = _words(folder, "g.V().drop()", "dot"), _words(folder, "g.V().drop()", "mermaid")

    assert json.loads(_words(folder, name, "json"))
    root = ET.fromstring(_words(folder, name, "graphml"))
    texts = {each.text for each in root.iter("{http://graphml.graphdrawing.org/xmlns}data")}
    assert re.sub("[\x00-\x08\x0b-\x1f]", "\ufffd", whole(name)) in texts
    assert len(_words(folder, name, "dot").splitlines()) == len(plain[0].splitlines())
    assert len(_words(folder, name, "mermaid").splitlines()) == len(plain[1].splitlines())
    rows = list(csv.reader(_words(folder, name, "csv").splitlines()))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert [cell for row in rows for cell in row if cell[:1] in ("=", "+", "-", "@")] == []
    for form in ("tree", "table", "csv"):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", _words(folder, name, form))


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(
            name.startswith("on") or (value or "").startswith("javascript:") for name, value in attrs
        )

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def _tags(file: Path) -> list[str]:
    parser = _Scripts()
    parser.feed(file.read_text(encoding="utf-8"))
    return parser.tags


def test_the_page_has_no_element_of_their_making(folder: Path, tmp_path: Path, pipeline_folder: str) -> None:
    pages = tmp_path / "hostile.html", tmp_path / "tame.html"
    for page, graph in ((pages[0], folder), (pages[1], Path(pipeline_folder))):
        done = in_process("html", "--out", page, "--folder", graph)
        assert done.code == 0, done
    assert _tags(pages[0]) == _tags(pages[1])


def _exported(folder: Path, out: Path, exporter: str) -> Path:
    done = in_process("export", "--to", exporter, "--out", out, "--folder", folder)
    assert done.code == 0, done
    return out


def test_exports_escape_names_in_their_own_syntax(folder: Path, tmp_path: Path) -> None:
    names = {whole(name) for name in NAMES}
    graph = read_folder(str(folder))
    assert {each.properties["name"] for each in graph.everything(labels=("job",))} == names

    root = ET.parse(_exported(folder, tmp_path / "l.graphml", "graphml")).getroot()
    nodes = list(root.iter("{http://graphml.graphdrawing.org/xmlns}node"))
    assert len(nodes) == len({each.get("id") for each in nodes}) >= 4 * len(NAMES)

    lines = _exported(folder, tmp_path / "l.jsonl", "openlineage").read_text(encoding="utf-8").split("\n")
    events = [json.loads(line) for line in lines if line]
    assert {each["name"] for line in events for each in line.get("outputs", ())} == {
        f"out/{name}" for name in names
    }

    made = _exported(folder, tmp_path / "csv", "neptune-csv")
    assert names <= set(_cells(made))


def _cells(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.csv.gz"):
        with gzip.open(file, "rt", newline="", encoding="utf-8") as stream:
            for row in csv.reader(stream):
                yield from row
