"""What is wrong with what the user asked of a tool."""


class ToolError(Exception):
    """One line that names what and where."""
