"""Names of applications and labels in Spline's database, for messages about patterns that match nothing."""

from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.arango import Server, database, run_query
from lineage_merge.sources.spline.documents import Document

# Maximum applications to report, if a pattern matches none.
MAX_APPLICATIONS = 10_000
# Maximum different labels to report, if no write has one.
MAX_LABELS = 10_000


def application_names(server: Server, is_recorded: bool) -> list[str]:
    """Return the names of applications in the database, at most `MAX_APPLICATIONS`.

    `is_recorded`: it has `progress`, whose index on this field the query uses.
    """
    collection, field = "executionPlan", "name"
    if is_recorded:
        collection, field = "progress", "execPlanDetails.applicationName"
    query = f"FOR p IN {collection} COLLECT name = p.{field} LIMIT @most RETURN name"
    with database(server) as db:
        found = list(run_query(db, server.settings, query, most=MAX_APPLICATIONS))
    return [name for name in found if isinstance(name, str)]


def labels_of_all(server: Server, wanted: labels.Wanted, collections: frozenset[str]) -> list[Document]:
    """Return the distinct fields of plans and writes with requested labels, at most `MAX_LABELS` of each."""
    query = (
        "FOR p IN {} COLLECT own = KEEP(p.labels || {{}}, @heads), extra = KEEP(p.extra || {{}}, @heads)"
        " LIMIT @most RETURN {{labels: own, extra: extra}}"
    )
    bind = {"heads": labels.heads(wanted), "most": MAX_LABELS}
    with database(server) as db:
        return [
            document
            for collection in sorted(collections.intersection(("executionPlan", "progress")))
            for document in run_query(db, server.settings, query.format(collection), **bind)
        ]


def label_names(server: Server) -> list[str]:
    """Return the names of the labels of plans, sorted."""
    query = "FOR p IN executionPlan COLLECT names = ATTRIBUTES(p.labels || {}) LIMIT @most RETURN names"
    with database(server) as db:
        found = run_query(db, server.settings, query, most=MAX_LABELS)
        return sorted({name for names in found for name in names})
