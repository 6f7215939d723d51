"""Receiving: OTLP over gRPC and over HTTP, one accept path behind both."""
