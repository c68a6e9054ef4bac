"""One lineage graph out of what Spark did (Spline) and what dbt built (manifest.json)."""

from typing import TYPE_CHECKING, Any

from lineage_merge.infra.redaction import redact as _redact
from lineage_merge.model.errors import install_redaction as _install_redaction
from lineage_merge.model.version import __version__ as __version__

if TYPE_CHECKING:
    from lineage_merge.spark_capture import capture as capture

# Here, so that no process raises an error with a secret: workers of Spark import nothing else first.
_install_redaction(_redact)


def __getattr__(name: str) -> Any:
    """Import `lineage_merge.capture` on first use: it needs PySpark."""
    if name == "capture":
        try:
            from lineage_merge.spark_capture import capture
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("py4j", "pyspark"):
                raise
            raise ImportError("capture needs classic PySpark: install lineage-merge[spark]") from None
        return capture
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
