"""Entries of the history of the embedded graph, cut out of its snapshot.

The rows of a snapshot are sorted as those of an entry, so that an entry is a filter and a file per table.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lineage_merge.graph_format.arrow import arrow_schema, rows_of_table
from lineage_merge.graph_format.elements import with_other_properties
from lineage_merge.graph_format.schema import Row, edge_ddl, labels_of, node_ddl, one_label
from lineage_merge.history import layout
from lineage_merge.history.entry_files import COMPRESSION, GROUP_ROWS
from lineage_merge.history.fingerprints import add_sums, sums_of, write_sums
from lineage_merge.history.layout import ENTRY_KINDS, PARTITION_KEYS, DagScope, MergeName
from lineage_merge.infra import storage
from lineage_merge.infra.embedded import graph_store
from lineage_merge.infra.embedded.element_batches import GraphTables, arrow
from lineage_merge.load import embedded_state
from lineage_merge.load.element_rows import stored_vertex_values
from lineage_merge.load.graph_state import LOADER_LABELS
from lineage_merge.load.stored_elements import INTERIM
from lineage_merge.model.errors import IntermediateError

_FILE = "part-00000-00000.parquet"


def write_snapshot_entry(location: str, scope: DagScope, name: MergeName, snapshot: Path) -> tuple[int, int]:
    """Write nodes and edges of an entry; return their numbers. The entry is not complete yet."""
    nodes, edges = dag_tables(graph_store.read_tables(snapshot), scope)
    for kind, table, ddl in zip(ENTRY_KINDS, (nodes, edges), (node_ddl(), edge_ddl()), strict=True):
        _write(layout.entry_folder(location, kind, scope, name), table, arrow_schema(ddl, PARTITION_KEYS))
    sums = (sums_of(map(_stored_row, rows_of_table(table))) for table in (nodes, edges))
    write_sums(location, scope, name, add_sums(sums))
    return len(nodes), len(edges)


def _stored_row(row: Row) -> Row:
    """Return a row with its other properties, of several values the one that a load compares."""
    values = with_other_properties(row)
    if values is row or "from" in row:
        return values
    lists = {name: value for name, value in values.items() if isinstance(value, list)}
    return values | stored_vertex_values(lists)


def dag_tables(tables: GraphTables, scope: DagScope) -> tuple[Any, Any]:
    """Return the nodes and edges of a DAG, as `load.graph_state.read_picture` reads them."""
    pa = arrow()
    vertices = tables.vertices.filter(embedded_state.tagged(tables.vertices, *scope))
    edges = embedded_state.edges_of(tables, vertices["id"].combine_chunks(), scope.dag_name)
    of_loader = pa.compute.is_in(vertices["label"], pa.array(LOADER_LABELS))
    vertices = vertices.filter(pa.compute.invert(of_loader))
    labels = vertices["label"].to_pylist()
    if any(len(labels_of(label)) > 1 for label in labels):
        position = vertices.schema.get_field_index("label")
        vertices = vertices.set_column(position, "label", pa.array(map(one_label, labels), pa.string()))
    return vertices, _with_final_ids(edges)


def _with_final_ids(edges: Any) -> Any:
    """Return edges without interim ids (`load.label_replacement`), each once."""
    pa = arrow()
    is_interim = pa.compute.ends_with(edges["id"], INTERIM)
    if not pa.compute.any(is_interim).as_py():
        return edges
    interim = edges.filter(is_interim)
    final = pa.compute.utf8_slice_codeunits(interim["id"], 0, -len(INTERIM))
    interim = interim.set_column(0, "id", final)
    others = edges.filter(pa.compute.invert(is_interim))
    known = pa.compute.is_in(final, others["id"].combine_chunks())
    both = pa.concat_tables([others, interim.filter(pa.compute.invert(known))])
    return both.sort_by([("to", "ascending"), ("id", "ascending")])


def _write(folder: str, table: Any, schema: Any) -> None:
    pa = arrow()
    from pyarrow import parquet

    storage.make_folder(folder)
    with TemporaryDirectory(prefix="lineage-merge-") as work:
        file = Path(work, _FILE)
        try:
            parquet.write_table(
                table.select(schema.names).cast(schema),
                file,
                compression=COMPRESSION,
                row_group_size=GROUP_ROWS,
            )
        except (pa.ArrowException, OSError) as error:
            raise IntermediateError(f"{storage.shown(folder)}: {error}") from None
        storage.write_file(f"{folder}/{_FILE}", file)
