"""The front door: `streamgauge <room> ...`, what rooms share, and the demo."""
