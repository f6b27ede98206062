"""The command `streamgauge`, the code that packages share, and the demo."""
