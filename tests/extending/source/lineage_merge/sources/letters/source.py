"""The letters source: lines such as ``copier: a -> b``."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lineage_merge.model.elements import Element, Feeds, Job, JobKey, Problem, Reference, Writes
from lineage_merge.sources.airflow_support import AirflowSupport, ConnectionSettings
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.line_source import LineSource


class LettersSource(LineSource[str]):
    """Reads letters; its settings are the location of the file."""

    name, key = "Letters", "letters"
    line_key, flag, paths = "file", "--letters", ("file",)
    kinds = (Kind("letters", "give them as letters.file", pattern=re.compile(r"(?m)^\w+: \w+ -> \w+$")),)
    remedy = "write lines such as copier: a -> b"

    def parse(self, settings: Any) -> str:
        return str(settings["file"])

    def files(self, settings: str) -> Iterable[str]:
        return (settings,)

    def translate(self, line: str, location: str) -> Iterator[Element]:
        """Yield the elements of ``copier: a -> b``: the job copier feeds b from a."""
        name, colon, flow = line.partition(": ")
        source, arrow, target = flow.partition(" -> ")
        if not (colon and arrow):
            yield Problem("rejected", location, "", "must be job: source -> target")
            return
        job = JobKey("letters", name)
        read, written = (Reference("letters://post", end.strip()) for end in (source, target))
        yield from (Job(job), Feeds(job, read, written), Writes(job, written))

    def airflow(self) -> AirflowSupport:
        return AirflowSupport("letters_default", ("file",), connect=_connect)


def _connect(connection: Any, *, here: bool) -> ConnectionSettings:
    return ConnectionSettings({"letters.file": connection.host}, {})


LETTERS = LettersSource()
