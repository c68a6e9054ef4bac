"""Infrastructure: Spark, engines, storage, secrets, telemetry, redaction, the embedded graph."""
