"""What the stages run on: Spark, engines, storage, secrets, telemetry, redaction, the embedded server."""
