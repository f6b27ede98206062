"""Errors of the tools."""


class ToolError(Exception):
    """An input error: one line that names the flag or file and the cause."""
