"""Querying: what the collector found, over gRPC and over HTTP, from the same messages."""
