"""Check of the graph: connection, permissions, and behaviour like Neptune's.

Writes only one vertex with a unique id and one edge from it to itself, and always drops both again.
"""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T

from lineage_merge.config import EMBEDDED, Config
from lineage_merge.load.gremlin import configured_endpoint
from lineage_merge.load.gremlin.connection import (
    Endpoint,
    check,
    connect,
    open_client,
    translate_errors,
)
from lineage_merge.load.gremlin.signing import sign_headers
from lineage_merge.model.errors import (
    ConfigError,
    GraphDenied,
    GraphError,
    GraphRejected,
    GraphUnreachable,
)
from lineage_merge.orchestration.doctor.neptune import Server, server_behind
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    ok,
    report_all_skipped,
    report_failure,
    report_skipped,
    warning,
)

SIGNING = "graph signing"
CONNECTION = "graph connection"
READER = "graph reader endpoint"
VERSION = "graph version"
READ = "graph read"
WRITE = "graph write"
IDS = "graph ids"
CARDINALITY = "graph cardinality"
CLEAN = "graph delete"
GRAMMAR = "graph grammar"

_STEPS = (CONNECTION, VERSION, READ, WRITE, IDS, CARDINALITY, CLEAN, GRAMMAR)

_SECONDS = 5.0
_LABEL = "doctor_probe"
_OLDEST, _NEWEST_TESTED = (3, 7), (3, 7)


def examine(config: Config) -> Iterator[Diagnosis]:
    """Check from the connection to the grammar of queries."""
    if config.gremlin.endpoint == EMBEDDED:
        yield report_skipped(CONNECTION, "the embedded graph is a folder")
        return
    try:
        endpoint = quick_endpoint(config)
    except ConfigError as error:
        yield report_failure(CONNECTION, error, f"correct {error.key}")
        yield from report_all_skipped(_STEPS[1:], f"{CONNECTION} failed")
        return
    signing = _signing(endpoint)
    yield from signing
    try:
        if any(diagnosis.state == "failed" for diagnosis in signing):
            yield from report_all_skipped(_STEPS, f"{SIGNING} failed")
            return
        check(endpoint)
    except GraphError as error:
        yield report_failure(CONNECTION, error, _connection_fix(error))
        yield from report_all_skipped(_STEPS[1:], f"{CONNECTION} failed")
        return
    yield ok(CONNECTION, endpoint.address)
    yield from _reader(endpoint)
    yield version_finding(server_behind(endpoint))
    try:
        with connect(endpoint) as g:
            yield from _reading(endpoint, g)
            yield from _writing(endpoint, g)
        yield _grammar(endpoint)
    except GraphError as error:
        yield report_failure(CONNECTION, error, _connection_fix(error))


def quick_endpoint(config: Config) -> Endpoint:
    """Return the configured endpoint with short time limits. Raises `ConfigError`."""
    endpoint = configured_endpoint.endpoint(config.gremlin)
    return replace(endpoint, timeout_seconds=min(endpoint.timeout_seconds, _SECONDS), retry_seconds=0)


def _signing(endpoint: Endpoint) -> list[Diagnosis]:
    """Check the credentials for signing; nothing without iam_auth."""
    if endpoint.iam is None:
        return []
    whose = f"as {endpoint.iam.role_arn}" if endpoint.iam.role_arn else "with the credentials of this machine"
    try:
        sign_headers(endpoint.url, endpoint.iam)
    except GraphError as error:
        fix = "attach a role to this machine, or run aws sso login; gremlin.role_arn must trust it"
        return [report_failure(SIGNING, error, fix)]
    return [ok(SIGNING, f"for {endpoint.iam.region}, {whose}")]


def _reader(endpoint: Endpoint) -> Iterator[Diagnosis]:
    if not endpoint.reader_url:
        return
    try:
        check(endpoint.reader)
    except GraphError as error:
        yield report_failure(READER, error, "correct or remove gremlin.reader_endpoint")
    else:
        yield ok(READER, endpoint.reader.address)


def _connection_fix(error: GraphError) -> str:
    if isinstance(error, GraphDenied) or "HTTP 403" in error.message:
        return "set gremlin.iam_auth, and allow the neptune-db actions of deploy/iam on this cluster"
    if isinstance(error, GraphUnreachable):
        return (
            "correct gremlin.endpoint (wss:// for Neptune, port 8182), and allow access from this machine: "
            "Neptune is only reachable in its VPC (security group)"
        )
    return "grant this user access to the graph"


def version_finding(server: Server) -> Diagnosis:
    """Check whether the server's version is tested, or supported at all."""
    if server.refusal:
        denied = GraphRejected(f"Neptune does not report its status: {server.refusal}")
        return report_failure(VERSION, denied, "allow the role neptune-db:GetEngineStatus (deploy/iam)")
    if server.role == "reader":
        reader = GraphRejected(f"{server.description}: a read-only instance")
        return report_failure(VERSION, reader, "set gremlin.endpoint to the cluster's writer endpoint")
    number = server.tinkerpop
    if number is None:
        return report_skipped(VERSION, "the server does not report it")
    if number < _OLDEST:
        old = GraphRejected(f"{server.description}: older than TinkerPop {_format_version(_OLDEST)}")
        return report_failure(VERSION, old, "upgrade the server to Neptune 1.3.2.0, or Gremlin Server 3.7")
    if number > _NEWEST_TESTED:
        newer = (
            f"{server.description}: newer than TinkerPop {_format_version(_NEWEST_TESTED)}, which was tested"
        )
        return warning(VERSION, newer, "load into a test graph first")
    return ok(VERSION, server.description)


def _format_version(number: tuple[int, int]) -> str:
    return ".".join(map(str, number))


def _answer(endpoint: Endpoint, traversal: GraphTraversal) -> list[Any]:
    with translate_errors(endpoint):
        answer: list[Any] = traversal.to_list()
        return answer


def _reading(endpoint: Endpoint, g: GraphTraversalSource) -> Iterator[Diagnosis]:
    try:
        answer = _answer(endpoint, g.V().limit(1).count())
    except GraphError as error:
        yield report_failure(READ, error, "allow the role neptune-db:ReadDataViaQuery (deploy/iam)")
        return
    yield ok(READ, "a graph with vertices" if answer[0] else "an empty graph")


def _writing(endpoint: Endpoint, g: GraphTraversalSource) -> Iterator[Diagnosis]:
    probe = f"lineage_merge|doctor|{uuid.uuid4().hex}"
    try:
        ids = _answer(endpoint, _vertex(g, probe))
        _answer(endpoint, _edge(g, probe))
    except GraphError as error:
        yield report_failure(WRITE, error, _write_fix(error))
        yield from report_all_skipped((IDS, CARDINALITY), f"{WRITE} failed")
    else:
        yield ok(WRITE, "a vertex and an edge, upserted")
        yield _string_ids(probe, ids)
        yield _cardinality(endpoint, g, probe)
    # Also after a failure: the write may have succeeded without a response.
    yield _clean_up(endpoint, probe)


def _vertex(g: GraphTraversalSource, probe: str) -> GraphTraversal:
    created = {T.id: probe, T.label: _LABEL, "name": "doctor"}
    merged = (
        g.merge_v({T.id: probe}).option(Merge.on_create, created).option(Merge.on_match, {"name": "again"})
    )
    return merged.id_()


def _edge(g: GraphTraversalSource, probe: str) -> GraphTraversal:
    ends = {Direction.OUT: probe, Direction.IN: probe}
    created = {T.id: f"{probe}|edge", T.label: _LABEL, **ends}
    return g.merge_e({T.id: f"{probe}|edge"}).option(Merge.on_create, created).id_()


def _write_fix(error: GraphError) -> str:
    message = error.message.lower()
    if "readonly" in message.replace("-", "").replace(" ", ""):
        return "set gremlin.endpoint to the writer (Neptune's cluster endpoint), not to a reader"
    if isinstance(error, GraphDenied) or "accessdenied" in message.replace(" ", ""):
        return "allow the role neptune-db:WriteDataViaQuery (deploy/iam)"
    if "merge" in message and (
        "no signature" in message or "unknown" in message or "could not locate" in message
    ):
        return "upgrade the server to TinkerPop 3.6 or newer, which has mergeV() (Neptune 1.3.2.0)"
    return "allow writes: Neptune's writer endpoint, neptune-db:WriteDataViaQuery, no read-only strategy"


def _string_ids(probe: str, ids: list[Any]) -> Diagnosis:
    if ids == [probe]:
        return ok(IDS, "strings, unchanged")
    refused = GraphRejected(f"the graph returned the id {ids} instead of the given string")
    return report_failure(IDS, refused, "configure string ids for vertices and edges (as in Neptune)")


def _cardinality(endpoint: Endpoint, g: GraphTraversalSource, probe: str) -> Diagnosis:
    write = g.V(probe)
    for value in ("a", "b", "a"):
        write = write.property(Cardinality.set_, "said", value).property("unsaid", value)
    write = write.property(Cardinality.single, "one", "a").property(Cardinality.single, "one", "b")
    try:
        _answer(endpoint, write.id_())
        values = {key: _answer(endpoint, g.V(probe).values(key)) for key in ("said", "unsaid", "one")}
    except GraphError as error:
        return report_failure(CARDINALITY, error, "enable single and set cardinality for vertex properties")
    if sorted(values["said"]) != ["a", "b"] or values["one"] != ["b"]:
        wrong = GraphRejected(f"set gives {sorted(values['said'])}, single {sorted(values['one'])}")
        return report_failure(CARDINALITY, wrong, "enable single and set cardinality for vertex properties")
    default = {2: "set", 1: "single"}.get(len(values["unsaid"]), "list")
    if default != "set":
        message = f"single and set work, but the default is {default}, Neptune's is set"
        fix = "set the default cardinality to set for other clients; lineage_merge always sets it"
        return warning(CARDINALITY, message, fix)
    return ok(CARDINALITY, "single and set, the default is set")


def _clean_up(endpoint: Endpoint, probe: str) -> Diagnosis:
    fix = f"allow neptune-db:DeleteDataViaQuery (deploy/iam), then run g.V('{probe}').drop()"
    try:
        with connect(endpoint) as g:
            if _answer(endpoint, g.V(probe).count()) == [0]:
                return report_skipped(CLEAN, "nothing was written")
            _answer(endpoint, g.V(probe).drop())
            left = _answer(endpoint, g.V(probe).count())
    except GraphError as error:
        return report_failure(CLEAN, error, fix)
    if left != [0]:
        return report_failure(CLEAN, GraphRejected(f"the vertex {probe} still exists"), fix)
    return ok(CLEAN, "the probe was deleted")


def _grammar(endpoint: Endpoint) -> Diagnosis:
    options = {"language": "gremlin-lang"}
    with open_client(endpoint, 1) as client:
        try:
            with translate_errors(endpoint):
                client.submit("g.V('doctor').count()", request_options=options).all().result()
        except GraphRejected as error:
            message = f"text queries may be rejected: {error.message}"
            return warning(GRAMMAR, message, "install gremlin-lang on the server for text queries")
    return ok(GRAMMAR, "gremlin-lang, as in Neptune")
