"""What a streaming query says of its sources and its sink, which its plans do not name. Pure."""

import re
from collections.abc import Iterable

from lineage_merge import naming
from lineage_merge.sources.spline.event_log.catalogs import Properties, qualify_path
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.targets import Unread, Write

# FileStreamSource[s3://b/in], FileSink[/out/t], DeltaSink[file:/delta/t]
_PLACE = re.compile(r"^(?P<kind>FileStreamSource|FileSink|DeltaSink)\[(?P<path>.*)\]$")
_GLOB = re.compile(r"/[^/]*[*?{\[].*$")
# Sinks that store nothing, and one whose function has executions of its own.
_NOWHERE = re.compile(r"^(?:ForeachBatchSink|MemorySink|ConsoleSink|NoopTable|.*\.(?:Console|Noop)Table\b)")


def read_folders(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the folders whose files a stream reads."""
    matches = filter(None, map(_PLACE.match, sources))
    return tuple(_GLOB.sub("", place["path"]) for place in matches if place["kind"] == "FileStreamSource")


def read_sink(sink: str, rows: PhysicalNode, properties: Properties) -> Write | Unread | None:
    """Return the target of a batch whose plan has none; None if nothing is stored."""
    place = _PLACE.match(sink)
    if place is not None:
        uri = qualify_path(place["path"], properties)
        data_format = "delta" if place["kind"] == "DeltaSink" else ""
        if uri:
            return Write(uri, True, rows, place["kind"], data_format=data_format)
        return Unread(
            "skipped", place["kind"], f"a path without its file system: {naming.redact(place['path'])}"
        )
    if _NOWHERE.match(sink):
        return None
    kind = naming.redact(re.split(r"[@\[(]", sink)[0]).rpartition(".")[2] if sink else ""
    of_kind = f"a sink that is not read: {kind}" if kind else "a sink that the log does not name"
    return Unread("skipped", kind, f"a batch of a stream into {of_kind}")
