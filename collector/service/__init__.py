"""The running collector: its process, its listeners, and what is started, stopped and changed in which order."""
