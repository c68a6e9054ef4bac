"""Check of the AWS credentials and region of this machine, without requests."""

from collections.abc import Iterator

from lineage_merge.config import Config
from lineage_merge.infra.s3_errors import LOG_IN
from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import SourceDenied
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok
from lineage_merge.sources import registry
from lineage_merge.sources.kafka_landing import broker_check

CREDENTIALS = "AWS credentials"


def examine(config: Config) -> Iterator[Finding]:
    """Check the credentials, if the configuration needs AWS."""
    if not needs_aws(config):
        return
    import boto3
    from botocore.exceptions import BotoCoreError

    fix = LOG_IN
    try:
        session = boto3.Session()
        credentials = session.get_credentials()
        region = session.region_name
    except BotoCoreError as error:
        yield failed(CREDENTIALS, SourceDenied(f"no AWS credentials ({type(error).__name__})"), fix)
        return
    if credentials is None:
        yield failed(CREDENTIALS, SourceDenied("no AWS credentials found"), fix)
    else:
        yield ok(CREDENTIALS, f"from {credentials.method}, {f'region {region}' if region else 'no region'}")


def needs_aws(config: Config) -> bool:
    """Whether any part of the configuration needs AWS credentials."""
    sources = list(registry.configured(config))
    topics = list(broker_check.configured(config))
    files = [file for each in sources for file in each.source.files(each.settings)]
    files += [topic.landing for topic in topics]
    return (
        config.gremlin.iam_auth
        or config.gremlin.bulk is not None
        or any(each.source.needs_aws(each.settings) for each in sources)
        or any(topic.options_secret for topic in topics)
        or any(is_s3(file) for file in files)
    )
