"""Where lineage comes from: one folder a source, registered in `registry`.

Nothing is imported here: Airflow's workers ask Spline's database without having Spark.
"""
