"""Configuration: the one table of options, and the loader that reads it from files, the environment and the command line."""

from collector.config.loader import ConfigError, Loaded, load, suggestion
from collector.config.options import Option, Options, table, value_of

__all__ = ["ConfigError", "Loaded", "Option", "Options", "load", "suggestion", "table", "value_of"]
