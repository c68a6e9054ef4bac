"""Check of QuickSight: files have definitions, and each call of the API that is made is allowed."""

from collections.abc import Iterator

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError, SourceUnreachable
from lineage_merge.naming import redact
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, fix_for, ok, report_failure, warning
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.quicksight import client
from lineage_merge.sources.quicksight.documents import Asset, read_document
from lineage_merge.sources.quicksight.files import DEFINITION_FILES
from lineage_merge.sources.quicksight.settings import QuickSight

QUICKSIGHT = "QuickSight"
_MAX_FILES = 100


def _examine(accounts: tuple[QuickSight, ...]) -> Iterator[Diagnosis]:
    for index, settings in enumerate(accounts):
        key = f"quicksight[{index}]"
        try:
            if settings.definitions:
                yield _examine_files(settings.definitions)
            else:
                yield from _examine_calls(settings)
        except SourceError as error:
            is_live = not settings.definitions
            fix = fix_for(error, settings.definitions, f"{key}.definitions")
            yield report_failure(QUICKSIGHT, error, _fix_for(error, settings, key) if is_live else fix)


def _examine_files(location: str) -> Diagnosis:
    files = DEFINITION_FILES.find(location)
    read = (document for file in files[:_MAX_FILES] for document in DEFINITION_FILES.read(file.location))
    assets = [
        read_document(document.text, document.location) if isinstance(document, Text) else document
        for document in read
    ]
    dashboards = sum(isinstance(asset, Asset) and asset.kind in ("dashboard", "analysis") for asset in assets)
    message = f"{redact(location)}: {len(files)} files"
    rejected = [one for one in assets if isinstance(one, Problem) and one.kind == "rejected"]
    if rejected:
        first = rejected[0]
        problem = f"{message}, but {first.document}: {first.message}"
        return warning(QUICKSIGHT, problem, "correct the document; a run skips it")
    if not dashboards:
        fix = "export definitions with aws quicksight describe-dashboard-definition (docs/quicksight.md)"
        return warning(QUICKSIGHT, f"{message}, no dashboard in the first {_MAX_FILES}", fix)
    return ok(QUICKSIGHT, f"{message}, with dashboards")


def _examine_calls(settings: QuickSight) -> Iterator[Diagnosis]:
    assets = client.list_assets(settings)
    yield ok(QUICKSIGHT, f"{settings}: {len(assets)} assets are listed")
    first = {asset.kind: asset for asset in reversed(assets)}
    for asset in first.values():
        problems = [one for one in client.describe(settings, asset) if isinstance(one, Problem)]
        for problem in problems:
            fix = f"allow quicksight:Describe* in {settings.region} (deploy/iam/quicksight_reader.json)"
            yield warning(QUICKSIGHT, f"{asset}: {problem.message}", fix)


def _fix_for(error: SourceError, settings: QuickSight, key: str) -> str:
    match error:
        case SourceDenied():
            return f"allow quicksight:List* in {settings.region} (deploy/iam/quicksight_reader.json)"
        case SourceUnreachable():
            return "correct the region, and check the network (QuickSight endpoint of the VPC)"
    return f"correct {key}"


CHECKS = (SourceCheck(QUICKSIGHT, _examine),)
