"""What exists, in order: an append-only, hash-chained, signed log in the object store. The index is a cache of it.

Belongs here: events, their chain, the head that they add up to, and walking both. No text is ever in it.
"""
