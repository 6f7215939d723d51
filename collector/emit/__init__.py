"""What the collector says to the world: metrics, review spans, log events, files, and their delivery."""
