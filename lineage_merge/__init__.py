"""One lineage graph out of what Spark did (Spline) and what dbt built (manifest.json)."""

__version__ = "0.1.0"
