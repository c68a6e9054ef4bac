"""Record the events of Airflow's OpenLineage provider for the DAGs of `openlineage_dags.py`.

    python tests/airflow/capture_openlineage.py ENVIRONMENT EVENTS.jsonl

ENVIRONMENT has Airflow, the providers openlineage, amazon, common-sql and postgres with the pins of `pins/`,
psycopg2-binary and moto[server]. Needs the programs of PostgreSQL. The DAGs run by `dag.test()`; AWS is moto.
Paths of this machine are replaced in what is written.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SETUP = """
create schema marts;
create table public.sales (salesid int, eventid int, buyerid int, qtysold int, pricepaid numeric(8,2),
    commission numeric(8,2), saledate date);
create table public.event (eventid int, eventname varchar(200));
comment on table public.sales is 'Tickets sold';
comment on column public.sales.pricepaid is 'Total price';
create table marts.buyers (buyerid int, paid numeric);
create table marts.venues (eventid int, eventname text);
create table marts.copied (like public.sales);
create table marts.daily (day date, total numeric);
insert into public.event values (1, 'Macbeth');
"""
# S3ToRedshiftOperator empties the table that a COPY fills: a trigger fills it here.
FILL = """
create function fill() returns trigger language plpgsql as $$ begin
  insert into public.sales values (1, 1, 7, 2, 80, 12, date '2026-01-02'); return null; end $$;
create trigger copied after delete on public.sales for each statement execute function fill();
"""
DRIVER = """
import sys
from moto.server import ThreadedMotoServer
import boto3
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
import os
os.environ["AWS_ENDPOINT_URL"] = "http://%s:%s" % server.get_host_and_port()
for bucket in ("tickit-lake", "tickit-scripts"):
    boto3.client("s3").create_bucket(Bucket=bucket)
boto3.client("iam").create_role(RoleName="glue", AssumeRolePolicyDocument="{}")
try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:
    from airflow.models.dagbag import DagBag
import airflow.lineage.hook
from airflow.listeners import hookimpl
from airflow.listeners.listener import get_listener_manager

class Fresh:
    # A worker runs each task in a process of its own, whose hooks have reported nothing yet.
    @hookimpl
    def on_task_instance_running(self, previous_state, task_instance):
        airflow.lineage.hook._hook_lineage_collector = None

bag = DagBag(dag_folder=os.environ["AIRFLOW__CORE__DAGS_FOLDER"], include_examples=False)
assert not bag.import_errors, bag.import_errors
get_listener_manager().add_listener(Fresh())
for name in ("tickit_tasks", "tickit_failing"):
    run = bag.dags[name].test()
    for each in run.get_task_instances():
        print(name, each.task_id, each.map_index, each.state, flush=True)
server.stop()
"""


def main(environment: Path, captured: Path) -> None:
    sys.path.insert(0, str(HERE))
    from check_dag import variables_for
    from check_scheduler import Database, postgresql

    programs = postgresql()
    assert programs, "needs PostgreSQL"
    with tempfile.TemporaryDirectory() as work, Database.running(programs) as database:
        home = Path(work)
        dags = home / "dags"
        dags.mkdir()
        shutil.copy(HERE / "openlineage_dags.py", dags)
        database.ask("create database dev")
        psql = [
            str(programs / "psql"),
            "-h",
            "127.0.0.1",
            "-p",
            str(database.port),
            "-U",
            "airflow",
            "-d",
            "dev",
        ]
        subprocess.run([*psql, "-q", "-c", SETUP, "-c", FILL], check=True)
        events = home / "events"
        transport = {"type": "file", "log_file_path": str(events), "append": True}
        warehouse = {
            "conn_type": "postgres",
            "host": "127.0.0.1",
            "login": "airflow",
            "schema": "dev",
            "extra": {"redshift": True, "cluster-identifier": "tickit-wh"},
        }
        redshift = {
            "conn_type": "redshift",
            "host": "tickit-wh.abc123.us-east-1.redshift.amazonaws.com",
            "schema": "dev",
        }
        variables = variables_for(environment) | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(transport),
            "AIRFLOW__OPENLINEAGE__NAMESPACE": "tickit",
            "AIRFLOW_CONN_WAREHOUSE": json.dumps(warehouse),
            "AIRFLOW_CONN_REDSHIFT_DEFAULT": json.dumps(redshift),
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(
                {"conn_type": "aws", "extra": {"region_name": "us-east-1"}}
            ),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "PGPORT": str(database.port),
        }
        for command in (["db", "migrate"], ["dags", "reserialize"]):
            subprocess.run([str(environment / "bin" / "airflow"), *command], env=variables, check=True)
        subprocess.run([str(environment / "bin" / "python"), "-c", DRIVER], env=variables, check=True)
        lines = [json.loads(line) for line in events.read_text().splitlines()]
        places = {str(home): "/opt/airflow", str(environment): "/usr/local"}
        captured.write_text("".join(f"{cleaned(each, places)}\n" for each in lines))


def cleaned(event: dict[str, Any], places: dict[str, str]) -> str:
    """An event without places of this machine and stacks of calls."""
    event["run"]["facets"].get("errorMessage", {}).pop("stackTrace", None)
    text = json.dumps(event, sort_keys=True)
    for place, instead in places.items():
        text = text.replace(place, instead)
    return re.sub(r"/tmp/[\w-]+", "/tmp/work", text)


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]))
