"""Altered responses and requests: nothing crashes, no value is wrong, every drop is counted."""
