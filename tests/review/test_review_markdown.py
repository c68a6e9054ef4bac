"""Reviews as comments: limits of GitHub and Mermaid, names without markup, and no noise."""

import re
from dataclasses import replace

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.dependents import AffectedTest, dependents
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.findings import Assessed, Finding, ReviewResult, Severity
from lineage_merge.review.review_formats import code, review_markdown
from tests.review.dbt_pull_requests.project import PULL_REQUESTS
from tests.review.test_review_dbt import merged, review

HOSTILE = (
    "a|b",
    "a\\|b",
    "x`y``z",
    "<img src=x onerror=alert(1)>",
    "@org/team",
    "[x](https://example.org)",
    "line\n## break",
    "```\n@org",
    "</code></summary>@org",
    "#1",
    "-->",
    "\u202egnp.exe",
)


def cells(row: str) -> list[str]:
    """Split a row of a table as GitHub does: a backslash escapes the next character of punctuation."""
    return re.findall(r"((?:\\[!-/:-@\[-`{-~]|[^|])*)\|", row.strip()[1:])


@pytest.mark.parametrize("name", PULL_REQUESTS)
def test_a_comment_is_within_the_limits_of_github(name: str) -> None:
    text = review_markdown(review(name, merged()))
    assert len(text) < 65_536
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0


def test_a_rename_is_said_to_be_a_guess() -> None:
    text = review_markdown(review("rename", merged()))
    assert "`revenue` → `net_revenue` (a guess: same expression and position)" in text


def test_a_reformatted_project_has_one_sentence() -> None:
    lines = review_markdown(review("reformat", merged())).splitlines()
    assert lines[1:3] == ["**Lineage review: no findings**", ""]
    assert len([each for each in lines if each]) == 3


def test_additions_have_no_details() -> None:
    assert "<details>" not in review_markdown(review("pii_path", merged()))


def test_what_changes_and_what_breaks_is_marked_in_the_diagram() -> None:
    text = review_markdown(review("drop", merged()))
    numbers = dict(re.findall(r'(n\d+)\W+"([^"]+)"', text)).items()
    node = {title: number for number, title in numbers}
    assert f"style {node['shop.main.int_shipments']} stroke-width:4px" in text
    assert f"style {node['shop.main.fct_orders']} stroke:#d1242f" in text


def test_a_comment_with_many_findings_is_cut() -> None:
    [found] = review("drop", merged()).findings
    text = review_markdown(ReviewResult((found,) * 2_000))
    assert len(text) < 65_536
    assert "and 1,950 more findings" in text
    assert "Details are omitted" in text


def test_tests_and_notes_that_are_cut_are_counted() -> None:
    [found] = review("drop", merged()).findings
    test = AffectedTest(Vertex("t", "assertion", {"name": "t"}), (), 0)
    text = review_markdown(
        ReviewResult((replace(found, tests=(test,) * 60),), tuple(f"note {each}" for each in range(40)))
    )
    assert re.findall("^- and .* more.*$", text, re.MULTILINE) == [
        "- and 35 more tests",
        "- and 15 more notes",
    ]
    assert (text.count("- test "), text.count("- `note ")) == (25, 25)


def test_notes_remain_if_details_do_not_fit() -> None:
    [found] = review("drop", merged()).findings
    text = review_markdown(ReviewResult((found,) * 2_000, ("n" * 900,) * 40))
    assert "Details are omitted" in text
    assert (text.count("- `nnn"), "- and 15 more notes" in text) == (25, True)
    assert len(text) < 65_536


def test_a_comparison_with_notes_is_not_said_to_be_complete() -> None:
    lines = review_markdown(ReviewResult((), ("orders: its columns are not compared",))).splitlines()
    assert [each for each in lines[2:] if each] == [
        "No findings.",
        "- `orders: its columns are not compared`",
    ]


def test_a_kind_with_markup_is_code() -> None:
    kind = "<img src=x> | @octocat [x](http://e)"
    found = [
        Finding(kind, "a", "a", "was none, is b"),
        Finding(kind, "a", "a", "was a, is b", before="a", after="b"),
    ]
    outside = without_code(review_markdown(ReviewResult(tuple(map(Assessed, found)))))
    assert not re.search("img|octocat|http", outside)


def star(count: int, name: str = "t") -> ReviewResult:
    """A changed dataset, and others that each feed all later ones."""
    ids = [f"dev|db|{name}{number:04}" for number in range(count)]
    vertices = [
        Vertex(each, "table", {"qualified_name": each.rpartition("|")[2], "owners": (f"{name}@{each}",)})
        for each in ids
    ]
    pairs = [(a, b) for at, a in enumerate(ids) for b in ids[at + 1 : at + 60]]
    graph = InMemory(vertices, [Edge(f"{a}>{b}", "feeds", a, b) for a, b in pairs])
    finding = Finding("model removed", ids[0], "m", "is no longer built", dataset=ids[0], change=Change.DROP)
    found = dependents(graph, graph.vertices([ids[0]])[0], change=Change.DROP)
    return ReviewResult((Assessed(finding, found),))


def test_a_diagram_with_many_edges_is_cut_to_those_that_mermaid_accepts() -> None:
    text = review_markdown(star(2_000))
    diagram = text.partition("```mermaid")[2].partition("```")[0]
    assert 0 < len(diagram) < 50_000
    assert 0 < diagram.count("-->") < 500
    assert re.search(r"The diagram omits 1,9\d\d datasets", text)
    assert len(text) < 65_536


def test_long_names_in_many_findings_do_not_exceed_the_limit() -> None:
    [found] = star(50, "n" * 400).findings
    long = replace(found.finding, title="t" * 500, before="b" * 900, after="a" * 900)
    text = review_markdown(ReviewResult((Assessed(long, found.dependents),) * 60))
    assert len(text) < 65_536
    assert re.search(r"and \d\d more findings", text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_in_its_cell_and_is_code(name: str) -> None:
    finding = Finding(
        "column renamed",
        name,
        name,
        f"renamed to {name} (a guess: same expression)",
        Severity.CHANGED,
        before=name,
        after=name,
        dataset="d",
        is_guess=True,
        file_path=name,
    )
    own = Vertex("dev|db|a", "table", {"qualified_name": name})
    other = Vertex(
        "dev|db|b", "table", {"qualified_name": name, "owners": (name,), "tags": (name,), "dag_name": (name,)}
    )
    graph = InMemory([own, other], [Edge("e", "feeds", own.id, other.id)])
    text = review_markdown(
        ReviewResult((Assessed(finding, dependents(graph, own, change=Change.DROP)),), (name,))
    )
    lines = text.splitlines()
    [row] = [each for each in lines if each.startswith("| changed")]
    assert len(cells(row)) == 6
    outside = without_code(text)
    assert [outside.count(each) for each in ("<details>", "</summary>", "</details>")] == [1, 1, 1]
    assert "org" not in outside
    assert "img" not in outside
    assert "break" not in outside.replace("breaks", "")


def without_code(text: str) -> str:
    """Remove code blocks, code elements and code spans, as CommonMark finds them."""
    blocks = re.sub(r"(?ms)^```mermaid\n.*?^```$", "", text)
    elements = re.sub(r"<code>[^<]*</code>", "", blocks)
    return re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", elements)


def test_names_in_a_comment_are_code_without_markup() -> None:
    assert {code(each) for each in ("@org/team", "a|b", "x`y", "``", "a\nb", "<img src=x>")} == {
        "`@org/team`",
        "`a|b`",
        "`` x`y ``",
        "``` `` ```",
        "`a b`",
        "`<img src=x>`",
    }
