"""Orchestration: pipeline, stages, Airflow, cluster entry point, publishing, diagnosis."""
