"""Starts Superset with a chart of each type, rules of row level security, and data sets that name others.

    SUPERSET_CONFIG_PATH=superset_config.py python -m tests.superset_server FOLDER

Run in an environment with Superset 6.1 (see `tests/superset_recipe.py`). Writes the exports of all dashboards
and then `address` to the folder, and serves until its input ends.
"""

import sys
import threading
from pathlib import Path

from tests.superset_chart_types import list_charts, make_form_data
from tests.superset_recipe import Client, add_database

_BIG = (
    "select dataset_{0}.country, gross, dataset_{1}.country as land, revenue from {{{{ dataset({0}) }}}}"
    " join {{{{ dataset({1}, include_metrics=True, columns=['country']) }}}}"
    " on dataset_{0}.country = dataset_{1}.country where dataset_{0}.status = 'PAID'"
)


def main(folder: Path) -> None:
    """Make all objects, and serve."""
    from superset.app import create_app
    from superset.cli.importexport import export_dashboards
    from werkzeug.serving import make_server

    application = create_app()
    client = Client(application.test_client())
    database = add_database(application)
    client.make(database)
    _add_charts(client, database)
    _add_more(client, database)
    export = str(folder / "exports.zip")
    outcome = application.test_cli_runner().invoke(export_dashboards, ["--dashboard-file", export])
    assert outcome.exit_code == 0, outcome.output
    server = make_server("127.0.0.1", 0, application, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (folder / "address").write_text(f"http://127.0.0.1:{server.port}")
    sys.stdin.read()


def _add_charts(client: Client, database: int) -> None:
    wide = client.send("post", "dataset/", {"database": database, "table_name": "wide"})["id"]
    charts = {
        title: client.add_chart(title, kind, wide, make_form_data(controls))
        for title, (kind, controls) in list_charts().items()
    }
    client.add_dashboard("Wide", charts)


def _add_more(client: Client, database: int) -> None:
    """Add a data set that names another, which is on no dashboard, and rules of row level security."""
    sold = _add_data_set(client, database, "sold", "select country, amount * 3 as gross, status from orders")
    listed = client.get("dataset/").get_json()["result"]
    numbers = {entry["table_name"]: entry["id"] for entry in listed}
    big = _add_data_set(client, database, "big", _BIG.format(sold, numbers["orders"]))
    chart = client.add_chart("of big", "pie", big, {"groupby": ["country", "land"], "metric": "count"})
    client.add_dashboard("Big", {"of big": chart})
    mine = "customer in (select customer from customers where customers.name = '{{ current_username() }}')"
    _add_rule(client, "own", mine, [numbers["orders"]])
    _add_rule(client, "grouped", "segment = 'A'", [numbers["paid_by_segment"]])


def _add_data_set(client: Client, database: int, name: str, text: str) -> int:
    return int(client.send("post", "dataset/", {"database": database, "table_name": name, "sql": text})["id"])


def _add_rule(client: Client, name: str, clause: str, data_sets: list[int]) -> None:
    rule = {"name": name, "clause": clause, "tables": data_sets, "roles": [], "filter_type": "Base"}
    client.send("post", "rowlevelsecurity/", rule)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
