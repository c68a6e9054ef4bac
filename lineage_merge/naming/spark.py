"""Names that Spark gives: of applications, which are jobs, and of the catalog of a session."""

import re
from typing import NamedTuple

JOB_TYPE = "spark"
SESSION_CATALOG = "spark_catalog"
# The rule by which a table of a catalog is the path that it is stored at.
CATALOG_RULE = "catalog-table"
# Glue's agent names an application after the job and its run, unless the script sets a name.
_GLUE = re.compile(r"^nativespark-(?P<job>.+)-(?P<run>jr_[0-9a-f]{8,}(?:_attempt_\d+)?)$")


class Application(NamedTuple):
    """A Spark application's job name, and Glue's run id if the name contains one."""

    job: str
    run_id: str = ""


def application(name: str) -> Application:
    """Split ``nativespark-sales-jr_0123abcd`` into the job ``sales`` and the run ``jr_0123abcd``."""
    match = _GLUE.match(name)
    return Application(match["job"], match["run"]) if match else Application(name)
