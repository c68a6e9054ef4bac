"""Check of OpenLineage events: they exist and are valid, services can be read; how `init` finds them."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import (
    ConfigError,
    LineageMergeError,
    SourceDenied,
    SourceError,
    SourceUnreachable,
)
from lineage_merge.model.times import utc_time
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    SourceCheck,
    examine_lines,
    ok,
    report_failure,
    warning,
)
from lineage_merge.sources.discovery import InitOption, SourceDiscovery, SourceInput, files_option
from lineage_merge.sources.openlineage import datazone, files, marquez, settings
from lineage_merge.sources.openlineage.documents import moment
from lineage_merge.sources.openlineage.settings import DataZone, Marquez, OpenLineage

EVENTS = "OpenLineage"
_EVENTS = 200
_NO_EVENTS = "configure the clients of OpenLineage to send events there"
_TRANSPORT = "set openlineage.events to the log of a file or console transport, or a folder of them"


def _examine(openlineage: OpenLineage) -> Iterator[Diagnosis]:
    """Check the files of each location, the events at the end of the last one, and the calls of services."""
    yield from examine_lines(
        EVENTS,
        "openlineage.events",
        openlineage.events,
        _inspect,
        _TRANSPORT,
        settings.EVENTS,
        files.find,
        _times,
    )
    services = {
        "datazone": openlineage.datazone and _examine_datazone(openlineage.datazone),
        "marquez": openlineage.marquez and _examine_marquez(openlineage.marquez),
    }
    for name, diagnoses in services.items():
        try:
            yield from diagnoses or ()
        except (ConfigError, SourceError) as error:
            yield report_failure(EVENTS, error, _fix_for(error, name))


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid event, and the problem of the first invalid one."""
    events = list(islice(files.events(part), _EVENTS))
    broken = (problem for problem in events if isinstance(problem, Problem) and problem.kind == "rejected")
    return any(not isinstance(event, Problem) for event in events), next(broken, None)


def _times(part: Slice) -> Iterator[int]:
    return (moment(event.document) for event in files.events(part) if not isinstance(event, Problem))


def _examine_datazone(domain: DataZone) -> Iterator[Diagnosis]:
    """Try each call that a run makes: the list, and the newest event."""
    newest = datazone.find_newest(domain)
    if newest is None:
        yield warning(EVENTS, f"{domain}: no event is listed", _NO_EVENTS)
        return
    yield ok(EVENTS, f"{domain}: events are listed, the newest of {utc_time(newest.at)}")
    for read in datazone.read_events(domain, [newest]):
        if isinstance(read, Problem):
            yield warning(EVENTS, f"{read.document}: {read.message}", "correct the client; a run skips it")
        else:
            yield ok(EVENTS, f"{domain}: events are readable")


def _examine_marquez(server: Marquez) -> Iterator[Diagnosis]:
    newest = marquez.find_newest(server)
    if newest is None:
        yield warning(EVENTS, f"{server}: no event is listed", _NO_EVENTS)
    else:
        yield ok(EVENTS, f"{server}: events are readable, the newest of {utc_time(newest)}")


def _fix_for(error: LineageMergeError, service: str) -> str:
    match error:
        case SourceDenied() if service == "datazone":
            calls = "datazone:ListLineageEvents and datazone:GetLineageEvent"
            return f"allow {calls} (deploy/iam/datazone_reader.json), or add the role to the domain"
        case SourceDenied():
            return "give an API key by openlineage.marquez.api_key_env or api_key_secret"
        case SourceUnreachable():
            return f"correct openlineage.{service}, and check the network"
    return f"correct openlineage.{service}"


CHECKS = (SourceCheck(EVENTS, _examine),)


class OpenLineageDiscovery(SourceDiscovery):
    """Files of lines with events, or a service that is named."""

    options = (
        files_option("--openlineage", "events", "OpenLineage events"),
        InitOption(
            "--openlineage-datazone", "datazone", "DataZone domain with OpenLineage events", metavar="ID"
        ),
        InitOption("--openlineage-region", "region", "its region", metavar="NAME"),
        InitOption("--openlineage-marquez", "marquez", "address of a Marquez with events", metavar="URL"),
    )
    line_key = "events"
    # A JSON line that is no event is skipped.
    rejects = ("rejected", "skipped")

    def has_documents(self, file: StoredFile) -> bool:
        """Return whether the beginning of a file contains events. Raises `SourceError`."""
        return files.has_events(file)

    def read_options(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named files or service; only one of them."""
        if sum(bool(given[name]) for name in ("events", "datazone", "marquez")) > 1:
            flags = "--openlineage, --openlineage-datazone and --openlineage-marquez"
            raise ConfigError("", f"give one of {flags}; others can be added to the configuration")
        if given["region"] and not given["datazone"]:
            raise ConfigError("", "--openlineage-region needs --openlineage-datazone")
        if given["datazone"]:
            region = {"region": given["region"]} if given["region"] else {}
            return SourceInput("datazone", settings={"domain": given["datazone"], **region})
        if given["marquez"]:
            return SourceInput("marquez", settings={"url": given["marquez"]})
        return super().read_options(given)

    def fix(self, error: SourceError) -> str:
        """Return the remedy for a service."""
        if isinstance(error, SourceDenied):
            return "allow the calls of deploy/iam/datazone_reader.json; of Marquez, set api_key_env"
        return "correct --openlineage-datazone and --openlineage-region, or --openlineage-marquez"
