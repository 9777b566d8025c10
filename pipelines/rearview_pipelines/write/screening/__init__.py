"""Judging what wants to be remembered: does it order the agent about, open a way out, weaken a guard?

The text is judged whoever wrote it. What is suspected is quarantined, never dropped: an admin decides.
"""
