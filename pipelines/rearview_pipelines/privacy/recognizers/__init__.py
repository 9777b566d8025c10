"""What personal data looks like: a recognizer an entity, each for Presidio's registry.

All of them read normalised text (`privacy.normalise`), in any language: a Chinese phone number in an
English sentence is one too. A pattern that only means something beside a word names that word and
keeps it out of the span with `\\K`.
"""
