"""OrbitRelay's collector: OTLP in, handoffs recovered, held against contracts and emitted as telemetry."""
