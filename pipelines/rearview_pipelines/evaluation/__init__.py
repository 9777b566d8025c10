"""Measuring recall: rankings against what was relevant, two configurations against each other."""
