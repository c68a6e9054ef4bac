"""Tables of an answer as one CSV file."""

import csv
import io

import pytest
from rich.console import Console
from rich.text import Text

from lineage_merge.questions.formats.table import AnswerTable, csv_text, safe_cell


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def filled(made: AnswerTable, *many: tuple[str | int, ...]) -> AnswerTable:
    for each in many:
        made.add(*each)
    return made


def test_a_table_has_a_header_and_its_rows() -> None:
    table = filled(AnswerTable("name", "about"), ("orders", 'says "hi", twice'), ("[bold]x", ""))
    assert rows(csv_text([Text("a heading"), table])) == [
        ["name", "about"],
        ["orders", 'says "hi", twice'],
        ["[bold]x", ""],
    ]


def test_several_tables_share_a_header_and_the_first_column_is_their_name() -> None:
    datasets = filled(AnswerTable("datasets", "label", "DAGs", name="datasets"), ("orders", "table", "daily"))
    jobs = filled(AnswerTable("jobs", "status", "DAGs", name="jobs"), ("load", "failed", "daily"))
    assert rows(csv_text([datasets, Text(), jobs])) == [
        ["table", "name", "label", "DAGs", "status"],
        ["datasets", "orders", "table", "daily", ""],
        ["jobs", "load", "", "daily", "failed"],
    ]


def test_the_header_is_the_same_without_rows() -> None:
    tables = [AnswerTable("datasets", "label", name="datasets"), AnswerTable("jobs", "status", name="jobs")]
    assert rows(csv_text(tables)) == [["table", "name", "label", "status"]]


def test_summaries_are_left_out() -> None:
    counts = filled(AnswerTable("", "number", is_summary=True), ("datasets", 3))
    assert rows(csv_text([counts, filled(AnswerTable("name"), ("orders",))])) == [["name"], ["orders"]]


def test_numbers_have_thousands_separators_on_screen_only() -> None:
    table = filled(AnswerTable("name", "rows"), ("1,000", 1234567))
    assert table.lines(80) == ["name   rows     ", "1,000  1,234,567"]
    assert rows(csv_text([table])) == [["name", "rows"], ["1,000", "1234567"]]


def test_lines_are_those_that_rich_prints_unless_cells_wrap() -> None:
    table = filled(AnswerTable("name", "表", "rows"), ("größe", "表格", 1), ("[b]x[/b]", "", 20_000))
    for width in range(1, 40):
        printed = io.StringIO()
        Console(file=printed, width=width).print(table)
        lines = table.lines(width)
        assert (lines is None) == (width < 22)
        assert lines is None or printed.getvalue().splitlines() == lines


def test_cells_wrap_between_words_if_the_words_of_all_columns_fit() -> None:
    table = filled(
        AnswerTable("name", "about", "job"), ("dev.shop.orders", "all orders of the shop", "load_orders")
    )

    def printed(width: int) -> list[str]:
        output = io.StringIO()
        Console(file=output, width=width).print(table)
        return [line.rstrip() for line in output.getvalue().splitlines()]

    for width in (36, 42):
        assert printed(width)[1].split()[0::2][0] == "dev.shop.orders"
        assert all("load_orders" in line for line in printed(width)[1:2])
    assert "dev.shop.orders" not in printed(30)[1]


def test_columns_without_a_name_or_with_the_same_get_one() -> None:
    table = filled(AnswerTable("from", "layer", "to", "layer", ""), ("a", "raw", "b", "mart", "x"))
    assert rows(csv_text([table])) == [
        ["from", "layer", "to", "layer 4", "column 5"],
        ["a", "raw", "b", "mart", "x"],
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1+cmd()", "'+1+cmd()"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("-5", "-5"),
        ("-0.25", "-0.25"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula(text: str, written: str) -> None:
    assert safe_cell(text) == written


@pytest.mark.parametrize(
    "hostile", ["=1+1", "two\nlines", "a\r=b", "\x1b[31mred", "half \ud800", "\u202etxt"]
)
def test_a_name_is_one_cell_of_one_line(hostile: str) -> None:
    text = csv_text([filled(AnswerTable(hostile, "x"), (hostile, "y"))])
    assert len(text.splitlines()) == 2
    text.encode("utf-8")
    assert all(line.isprintable() for line in text.splitlines())
    header, row = rows(text)
    assert (header[1], row[1]) == ("x", "y")
    assert header[0] == row[0]
    assert row[0][0] not in "=+-@\t\r"
