"""Listeners: what the OTLP and the admin servers share, which is sockets, TLS, tokens and the start and stop of a server."""
