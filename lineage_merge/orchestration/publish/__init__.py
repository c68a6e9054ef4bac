"""Puts what a Glue or EMR Serverless job needs into S3: its script, this package, what it depends on."""

from lineage_merge.orchestration.publish.publishing import SCRIPT, Published, publish

__all__ = ["SCRIPT", "Published", "publish"]
