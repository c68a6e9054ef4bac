"""Units of views in a warehouse's catalog that neither the history nor dbt creates."""

from collections.abc import Iterator
from functools import partial

from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.sources.query_log.lineage.dbt_jobs import DbtJobs
from lineage_merge.sources.query_log.lineage.interpretation import Warehouse, find_created_view
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements import view_definitions
from lineage_merge.sources.query_log.statements.facts import creates_view
from lineage_merge.sources.query_log.statements.session_rows import CountedUnit
from lineage_merge.sources.query_log.statements.statement import Prepared


def view_units(
    engine: Engine,
    log: QueryLog,
    views: Rows[Prepared],
    statements: Rows[Prepared],
    units: Rows[CountedUnit],
    warehouse: Warehouse,
    dbt: DbtJobs,
) -> Rows[CountedUnit]:
    """Return the units of `views` that `units`, statements of dbt and its manifests do not create."""
    shared = engine.share(warehouse)
    created = set(units.filter(_creates_view).flat_map(partial(_list_created_views, shared)).collect())
    of_dbt = statements.flat_map(partial(view_definitions.view_of_dbt, namespace=log.namespace))
    created.update(map(warehouse.resolve_id, set(of_dbt.collect())))
    created.update(warehouse.resolve_id(job.dataset) for jobs in dbt.by_node.values() for job in jobs)
    newest = views.map(lambda view: (view.statement.session, view)).combine(
        lambda view: view, view_definitions.newer, view_definitions.newer
    )
    return newest.flat_map(partial(_view_unit, log.search_path)).filter(
        lambda counted: created.isdisjoint(find_created_view(counted.unit, shared.value))
    )


def find_outdated_views(engine: Engine, units: Rows[CountedUnit], warehouse: Warehouse) -> frozenset[str]:
    """Return the keys of units that create a view which a later one replaces."""
    newest: dict[str, tuple[int, str]] = {}
    views = units.filter(_creates_view).flat_map(partial(_times_of_views, engine.share(warehouse))).collect()
    for view, last, key in views:
        newest[view] = max(newest.get(view, (0, "")), (last, key))
    return frozenset(key for view, _, key in views if newest[view][1] != key)


def _times_of_views(shared: Shared[Warehouse], counted: CountedUnit) -> Iterator[tuple[str, int, str]]:
    for view in find_created_view(counted.unit, shared.value):
        yield view, counted.last, counted.unit.key


def _creates_view(counted: CountedUnit) -> bool:
    return creates_view(counted.unit.statements[counted.unit.target])


def _list_created_views(shared: Shared[Warehouse], counted: CountedUnit) -> Iterator[str]:
    return find_created_view(counted.unit, shared.value)


def _view_unit(search_path: tuple[str, ...], named: tuple[str, Prepared]) -> Iterator[CountedUnit]:
    unit = view_definitions.unit_of(named[1], search_path)
    if unit is not None:
        yield CountedUnit(unit, 0)
