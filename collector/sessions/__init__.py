"""Sessions: what names them, which traces they hold, and when they close."""
