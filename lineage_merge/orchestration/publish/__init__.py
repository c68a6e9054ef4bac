"""Upload of the artifacts of Glue and EMR Serverless jobs to S3: script, package, dependencies."""

from lineage_merge.orchestration.publish.publishing import SCRIPT, Published, publish

__all__ = ["SCRIPT", "Published", "publish"]
