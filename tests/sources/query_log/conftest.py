"""The stand-in for Redshift as a fixture."""

from tests.sources.query_log.redshift_standin import clusters as clusters
