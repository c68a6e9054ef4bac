"""What only a server of Superset knows: data sets by number, and rules of row level security."""

import io
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_merge.model.elements import Dataset, Feeds, FeedsColumn, Influences, Problem
from tests.record_reading import records_of
from tests.sources.superset.test_superset import read

_NAMES = {"orders": 1, "sold": 2, "big": 3}
_DATABASE = "00000000-0000-4000-8000-000000000009"
_SOLD = "select country, amount * 3 as gross from orders where status = 'PAID'"


def _uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def _data_set(name: str, columns: str, text: str = "") -> dict[str, Any]:
    return {
        "table_name": name,
        "sql": text or None,
        "columns": [{"column_name": column} for column in columns.split()],
        "metrics": [{"metric_name": "revenue", "expression": "SUM(amount)"}] if name == "orders" else [],
        "uuid": _uuid(_NAMES[name]),
        "database_uuid": _DATABASE,
    }


def _pack(*data_sets: dict[str, Any]) -> bytes:
    packed = io.BytesIO()
    database = {
        "database_name": "shop",
        "sqlalchemy_uri": "postgresql://host:5432/shop",
        "uuid": _DATABASE,
    }
    dashboard = {"dashboard_title": "Shop", "uuid": _uuid(20), "position": {}, "metadata": {}}
    with zipfile.ZipFile(packed, "w") as archive:
        for number, document in enumerate((database, dashboard, *data_sets)):
            archive.writestr(f"export/{number}.yaml", yaml.safe_dump(document))
    return packed.getvalue()


def _answers(
    big: str, rules: list[tuple[str, str]], *others: str, columns: str = "country"
) -> dict[str, bytes | int]:
    """Return the answers of a server with the data set `big` and rules for data sets by name."""
    known = {
        "orders": _data_set("orders", "country amount status day"),
        "sold": _data_set("sold", "country gross", _SOLD),
        "big": _data_set("big", columns, big),
    }
    listed = [
        {"id": _NAMES[name], "database": {"uuid": _DATABASE}, **document} for name, document in known.items()
    ]
    written = [
        {"id": at, "name": f"rule {at}", "clause": clause, "tables": [{"id": _NAMES[name]}]}
        for at, (name, clause) in enumerate(rules)
    ]
    dashboard = {"id": 1, "uuid": _uuid(20), "dashboard_title": "Shop"}
    exports = {f"dataset/export/?q=!({_NAMES[name]})": _pack(known[name]) for name in known}
    return {
        **exports,
        "dashboard/export/": _pack(known["big"], *(known[name] for name in others)),
        "dashboard/": json.dumps({"count": 1, "result": [dashboard]}).encode(),
        "dataset/": json.dumps({"count": 3, "result": listed}).encode(),
        "rowlevelsecurity/": json.dumps({"count": len(rules), "result": written}).encode(),
    }


@contextmanager
def _serve(answers: dict[str, bytes | int]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix("/api/v1/")
            answer = next(answer for start, answer in answers.items() if path.startswith(start))
            self.send_response(answer if isinstance(answer, int) else 200)
            self.end_headers()
            self.wfile.write(b"" if isinstance(answer, int) else answer)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, bytes | int]], list[Any]]:
    """Return the records of a server with these answers."""
    monkeypatch.setenv("SUPERSET_TOKEN", "token")

    def read_answers(answers: dict[str, bytes | int]) -> list[Any]:
        with _serve(answers) as url:
            return read(url=url, token_env="SUPERSET_TOKEN")

    return read_answers


def _edges(records: list[Any], target: str) -> set[str]:
    views = [dataset for dataset in records_of(Dataset, records) if "|superset://" in dataset.ref]
    names = {dataset.ref: str(dataset.properties["name"]) for dataset in views}

    def show(source: str) -> str:
        return names.get(source) or source.rpartition("|")[2]

    found = {
        f"{show(edge.source)}.{edge.source_column} -> {edge.target_column}"
        for edge in records_of(FeedsColumn, records)
        if names.get(edge.target) == target
    }
    return found | {
        f"{show(edge.source)}.{edge.source_column} {','.join(edge.transformations)}"
        for edge in records_of(Influences, records)
        if names.get(edge.target) == target
    }


def _messages(records: list[Any]) -> list[str]:
    return [f"{problem.field}: {problem.message}" for problem in records_of(Problem, records)]


def test_a_data_set_that_another_names_by_number_is_between_it_and_the_table(ask: Any) -> None:
    found = ask(
        _answers("select country, gross from {{ dataset(2) }} where gross > 1", [], columns="country gross")
    )

    assert _messages(found) == []
    assert _edges(found, "big") == {"sold.country -> country", "sold.gross -> gross", "sold.gross FILTER"}
    assert _edges(found, "sold") == {
        "shop.public.orders.country -> country",
        "shop.public.orders.amount -> gross",
        "shop.public.orders.status FILTER",
    }


def test_the_metrics_of_a_data_set_are_columns_where_it_is_named_with_them(ask: Any) -> None:
    text = "select country, revenue from {{ dataset(1, include_metrics=True, columns=['country']) }}"
    found = ask(_answers(text, [], columns="country revenue"))

    assert _messages(found) == []
    assert _edges(found, "big") == {
        "orders.country -> country",
        "orders.amount -> revenue",
        "orders.country GROUP_BY",
    }


@pytest.mark.parametrize("call", ["dataset(8)", "dataset('x')", "dataset()", "dataset(1, True)"])
def test_a_call_that_resolves_to_nothing_is_in_the_report(call: str, ask: Any) -> None:
    found = ask(_answers(f"select country from {{{{ {call} }}}}", []))

    assert bool(_messages(found)) == (call != "dataset(1, True)")


def test_an_export_has_no_numbers(tmp_path: Path) -> None:
    call = "select country from {{ dataset(2) }} join customers on true"
    (tmp_path / "export.zip").write_bytes(_pack(_data_set("big", "country", call)))
    found = read(export=str(tmp_path))

    [message] = _messages(found)
    assert message == (
        "sql: is a query with a template that names a data set by its number, which only the server knows: "
        "dataset: only its tables are known"
    )
    assert [edge.source.rpartition("|")[2] for edge in records_of(Feeds, found)] == ["shop.public.customers"]


_RULES = {
    "of a table": (
        [("orders", "day > '{{ url_param('day') }}' and status in ('A')")],
        {"shop.public.orders.day FILTER", "shop.public.orders.status FILTER"},
    ),
    "of other tables": (
        [("orders", "country in (select m.country from mine m where m.who = '{{ current_username() }}')")],
        {
            "shop.public.orders.country FILTER",
            "shop.public.mine.country FILTER",
            "shop.public.mine.who FILTER",
        },
    ),
    "of a column that the data set does not have": (
        [("orders", "orders.tenant = 1")],
        {"shop.public.orders.tenant FILTER"},
    ),
    "of another data set": ([("sold", "gross > 1")], set()),
}


@pytest.mark.parametrize("name", _RULES)
def test_a_rule_decides_on_the_rows_of_its_data_set(name: str, ask: Any) -> None:
    rules, expected = _RULES[name]
    found = ask(_answers("select 1 as country", rules, "orders"))

    assert _messages(found) == []
    assert {edge for edge in _edges(found, "orders") if edge.endswith("FILTER")} == expected


def test_a_rule_of_a_query_and_one_of_its_table_decide_on_its_rows(ask: Any) -> None:
    rules = [("sold", "gross > 1"), ("orders", "day = '2026-01-01'")]
    found = ask(_answers("select 1 as country", rules, "sold"))

    assert _messages(found) == []
    assert {edge for edge in _edges(found, "sold") if edge.endswith("FILTER")} == {
        "shop.public.orders.amount FILTER",
        "shop.public.orders.day FILTER",
        "shop.public.orders.status FILTER",
    }


@pytest.mark.parametrize("clause", ["day = (", "{{ secret_of(1) }} = 1", "1 = 1) or (day = 1"])
def test_a_rule_that_cannot_be_read_costs_nothing_else(clause: str, ask: Any) -> None:
    found = ask(_answers("select 1 as country", [("orders", clause)], "orders"))

    assert "shop.public.orders.day -> day" in _edges(found, "orders")
    assert all("rule 0" in message for message in _messages(found))


@pytest.mark.parametrize("resource", ["rowlevelsecurity/", "dataset/"])
def test_what_the_user_may_not_read_is_in_the_report(resource: str, ask: Any) -> None:
    found = ask(_answers("select country from orders", []) | {resource: 403})

    assert any("no permission" in message and "row level security" in message for message in _messages(found))
    assert "shop.public.orders.country -> country" in _edges(found, "big")
