"""Personal data and secrets: found on the way in, masked or refused by policy, masked again on the way out.

Belongs here: recognizers, the policy, what is done to a span. Never here: which stage runs when
(`write`, `recall`), or anything that keeps a value it found.
"""
