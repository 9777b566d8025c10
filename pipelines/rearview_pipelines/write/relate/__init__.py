"""How a new fact stands to those that are known: the same, its successor, its contradiction, or nothing to it.

Decided by words, in pure functions, so that a verdict can be explained and Chinese is as good as English.
When in doubt there is no relation: a fact that merely shares a name must never be ended by another.
"""
