"""Translates a line into elements (pure)."""

from collections.abc import Iterator

from lineage_merge.model.elements import Element, Feeds, Job, JobKey, Problem, Reference, Writes


def translate(line: str, location: str) -> Iterator[Element]:
    """Yield the elements of ``copier: a -> b``: the job copier feeds b from a."""
    name, colon, flow = line.partition(": ")
    source, arrow, target = flow.partition(" -> ")
    if not (colon and arrow):
        yield Problem("rejected", location, "", "must be job: source -> target")
        return
    job = JobKey("letters", name)
    read, written = (Reference("letters://post", end.strip()) for end in (source, target))
    yield Job(job)
    yield Feeds(job, read, written)
    yield Writes(job, written)
