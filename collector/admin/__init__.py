"""The admin listener: health, metrics and the query API over HTTP, beside the OTLP listeners and never on them."""
