"""OTLP as Python values: the telemetry model and its decoders."""
