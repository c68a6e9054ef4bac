"""Reader of QuickSight: the documents of each location, first what they say about each other, then all."""

from collections.abc import Iterator
from functools import partial

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.model.elements import Element, Problem, Reference
from lineage_merge.model.records import Record
from lineage_merge.naming import redact
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.json_values import as_text
from lineage_merge.sources.quicksight import client
from lineage_merge.sources.quicksight.assets import find_namespace
from lineage_merge.sources.quicksight.catalog import Fact, Known, combine_facts, gather_facts
from lineage_merge.sources.quicksight.dashboards import Dashboard, translate_dashboard
from lineage_merge.sources.quicksight.data_set_elements import translate_data_set
from lineage_merge.sources.quicksight.documents import Asset, DashboardFacts, read_document
from lineage_merge.sources.quicksight.files import DEFINITION_FILES, list_manifest_files
from lineage_merge.sources.quicksight.settings import QuickSight
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.settings import matches_globs

# Files of a folder are small: a task reads several.
_FILES_PER_TASK = 20
# An estimate: data sets have less, dashboards more.
_BYTES_PER_ASSET = 40_000


def read_quicksight(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured locations as records. Raises `SourceError` for one that cannot be listed."""
    return engine.union([_read(engine, entry, resolver) for entry in config.sources["quicksight"]])


def _read(engine: Engine, settings: QuickSight, resolver: Resolver) -> Rows[Record]:
    documents: Rows[Text | Problem]
    if settings.definitions:
        files = DEFINITION_FILES.find(settings.definitions)
        engine.reserve(sum(file.text_bytes for file in files))
        tasks = -(-len(files) // _FILES_PER_TASK)
        documents = engine.rows([file.location for file in files], tasks).flat_map(DEFINITION_FILES.read)
    else:
        assets = client.list_assets(settings)
        engine.reserve(_BYTES_PER_ASSET * len(assets))
        tasks = max(1, min(engine.parallelism, len(assets)))
        # Each call is made once: the documents are used twice.
        documents = engine.rows(assets, tasks).flat_map(partial(client.describe, settings)).cache()
    facts = documents.flat_map(_facts).collect()
    known = combine_facts(facts, settings.data_sources, resolver.resolve_id, list_manifest_files)
    return documents.flat_map(partial(_records, engine.share(known), settings, resolver))


def _facts(document: Text | Problem) -> Iterator[Fact]:
    if isinstance(document, Text):
        asset = read_document(document.text, document.location)
        if isinstance(asset, Asset):
            yield from gather_facts(asset)


def _records(
    known: Shared[Known], settings: QuickSight, resolver: Resolver, document: Text | Problem
) -> Iterator[Record]:
    return resolver.records(translate(document, known.value, settings))


def translate(document: Text | Problem, known: Known, settings: QuickSight) -> Iterator[Element]:
    """Yield the elements of a document. Names of columns and texts in problems are redacted."""
    for element in _translate(document, known, settings):
        if isinstance(element, Problem):
            yield element._replace(field=redact(element.field), message=redact(element.message))
        else:
            yield element


def _translate(document: Text | Problem, known: Known, settings: QuickSight) -> Iterator[Element]:
    if isinstance(document, Problem):
        yield document
        return
    asset = read_document(document.text, document.location)
    if isinstance(asset, Problem):
        yield asset
        return
    body = asset.body
    if asset.kind == "data_set":
        name = f"dataset/{as_text(body.get('DataSetId'))}"
        reference = known.reference(as_text(body.get("Arn")), name)
        yield from translate_data_set(body, reference, known.catalog, document.location)
    elif asset.kind == "dashboard" or (asset.kind == "analysis" and settings.analyses):
        identifier = as_text(body.get("DashboardId" if asset.kind == "dashboard" else "AnalysisId"))
        title = as_text(body.get("Name")) or identifier
        if not matches_globs(settings.dashboards, identifier, title):
            return
        # A folder may have assets of several accounts.
        declared = body["Definition"].get("DataSetIdentifierDeclarations")
        namespace = find_namespace(declared) or known.namespace
        if not namespace:
            message = "names no account: it uses no data set, and nothing beside it has an ARN"
            yield Problem("skipped", document.location, "", message)
            return
        facts = known.dashboards.get(identifier, DashboardFacts(identifier))
        dashboard = Dashboard(
            Reference(namespace, f"{asset.kind}/{identifier}"),
            title,
            body["Definition"],
            document.location,
            facts.description,
            facts.published_at,
            facts.owners,
        )
        yield from translate_dashboard(dashboard, known.catalog.data_sets)
