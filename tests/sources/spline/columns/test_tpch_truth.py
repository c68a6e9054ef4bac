"""The 22 queries of TPC-H as recorded by Spline, compared with edges derived from their SQL."""

import json
from pathlib import Path

from lineage_merge.sources.spline.columns.lineage import column_lineage
from tests.sources.spline.columns.lineage_reading import captured, short, target


def test_every_column_edge_of_tpch_is_found_and_none_is_wrong(data: Path) -> None:
    truth = json.loads((data / "truth" / "tpch_columns.json").read_text())
    found: dict[str, set[tuple[str, str, str]]] = {}
    for plan in captured(data / "spline" / "tpch"):
        found[target(plan)] = {
            (short(each.source), each.column, each.target_column) for each in column_lineage(plan).flows
        }

    assert found == {query: {(a, b, c) for a, b, c in edges} for query, edges in truth.items()}
    assert sum(map(len, found.values())) == 89
