"""The letters source: lines such as ``copier: a -> b``."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lineage_merge.infra.setting import declare
from lineage_merge.model.elements import Element, Feeds, Job, JobKey, Problem, Reference, Writes
from lineage_merge.sources.airflow_support import AirflowSupport, ConnectionSettings
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.line_source import LineSource


@dataclass(frozen=True, slots=True)
class Letters:
    """Where letters are read from."""

    file: str = declare("file of lines: job: source -> target", is_path=True)


class LettersSource(LineSource[Letters]):
    """Reads letters."""

    name, key = "Letters", "letters"
    settings = Letters
    description = "who copies which letter to which"
    line_key, flag = "file", "--letters"
    kinds = (Kind("letters", "give them as letters.file", pattern=re.compile(r"(?m)^\w+: \w+ -> \w+$")),)
    remedy = "write lines such as copier: a -> b"

    def files(self, settings: Letters) -> Iterable[str]:
        return (settings.file,)

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
