"""S3 by moto, in server mode."""
