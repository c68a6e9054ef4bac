"""Check of the bulk loader: its API, and write access to its S3 prefix. Starts no load."""

import uuid
from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.infra import storage
from lineage_merge.load.neptune_bulk import bulk_load, loader_jobs
from lineage_merge.model.errors import ConfigError, GraphError, SourceError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.orchestration.doctor.gremlin import quick_endpoint
from lineage_merge.sources.diagnosis import Diagnosis, ok, report_all_skipped, report_failure

FILES = "bulk files"
LOADER = "bulk loader"


def examine(config: Config) -> Iterator[Diagnosis]:
    """Check the bulk loader, if it is configured."""
    if config.gremlin.bulk is None:
        return
    try:
        bulk = bulk_load.find_configured(config.gremlin, quick_endpoint(config))
    except ConfigError as error:
        yield report_failure(LOADER, error, f"correct {error.key}")
        return
    if bulk is None:
        yield from report_all_skipped((FILES, LOADER), "unused with this gremlin.mode or endpoint")
        return
    yield _files(bulk.s3)
    # An unused S3 prefix: lists all loads, and waits for none.
    unused_prefix = f"{bulk.s3.rstrip('/')}/{uuid.uuid4().hex}/"
    try:
        loader_jobs.await_earlier_loads(bulk.loader, unused_prefix, lambda _line: None)
    except GraphError as error:
        fix = "allow neptune-db:ListLoaderJobs, GetLoaderJobStatus, StartLoaderJob and CancelLoaderJob"
        yield report_failure(LOADER, error, f"{fix} (deploy/iam), or correct gremlin.bulk.endpoint")
    else:
        used = f"used for more than {bulk.min_changes:,} changes" if bulk.min_changes else "always used"
        yield ok(LOADER, f"{bulk.loader.url} is available, {used}; its access to S3 is checked by a load")


def _files(s3: str) -> Diagnosis:
    """Write, read and delete a small object below the prefix."""
    folder = f"{s3.rstrip('/')}/doctor-{uuid.uuid4().hex}"
    fix = f"allow s3:PutObject, s3:GetObject, s3:DeleteObject and s3:ListBucket on {redact(s3)} (deploy/iam)"
    try:
        storage.write_text(f"{folder}/probe", "of lineage-merge doctor\n")
        try:
            storage.read_text(f"{folder}/probe")
        finally:
            storage.delete_folder(folder)
    except SourceMissing as error:
        return report_failure(
            FILES, error, "correct gremlin.bulk.s3, or create the bucket in the cluster's region"
        )
    except SourceError as error:
        return report_failure(FILES, error, fix)
    return ok(FILES, f"{redact(s3)} is readable and writable")
