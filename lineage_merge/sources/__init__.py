"""Lineage sources: one folder per source, registered in `registry`.

Imports nothing: Airflow workers query Spline's database without having Spark.
"""
