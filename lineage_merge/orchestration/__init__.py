"""The job: its pipeline and stages, and how Airflow, clusters and people run it."""
