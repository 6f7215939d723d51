"""The commands of the command line that are not modules of their own elsewhere."""
