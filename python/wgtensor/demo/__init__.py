"""Demonstrations: `python -m wgtensor.demo digits`."""
