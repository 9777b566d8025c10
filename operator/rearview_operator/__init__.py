"""Kubernetes only: watches MemoryStore resources and builds the objects they ask for.

Knows no model, no index and no Ray; imports neither of the other two packages. What it shares
with them is data (the application's arguments), held together by a contract test.
"""
