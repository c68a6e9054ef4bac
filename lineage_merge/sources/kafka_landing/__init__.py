"""Landing of Kafka topics: messages are stored in files that a source reads like any others."""
