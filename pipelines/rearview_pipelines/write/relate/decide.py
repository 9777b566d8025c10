"""The one question: what is a new statement to an old one? Pure."""

from enum import StrEnum

from rearview_pipelines.write.relate.changes import ends, has_cue
from rearview_pipelines.write.relate.compare import contradicts, is_same
from rearview_pipelines.write.relate.words import statement


class Relation(StrEnum):
    DUPLICATE = "duplicate"
    SUPERSEDES = "supersedes"
    CONTRADICTION = "contradiction"
    NONE = "none"


def relation(new: str, old: str, new_key: str | None = None, old_key: str | None = None) -> Relation:
    """What `new` is to `old`, both in one scope. The same key supersedes; another key is another thing."""
    a, b = statement(new), statement(old)
    common = len(a.bag & b.bag)
    far = common * 2 < max(len(a.bag), len(b.bag))
    if new_key == old_key and not far and is_same(a, b):
        return Relation.DUPLICATE
    if new_key is not None and new_key == old_key:
        return Relation.SUPERSEDES
    if new_key is not None and old_key is not None:
        return Relation.NONE
    if far and not (common and has_cue(a)):
        return Relation.NONE  # most pairs: too little in common to say anything of one another
    if a.asserts != b.asserts:
        return Relation.NONE  # what may be, or is asked, ends nothing and contradicts nothing
    if not a.asserts:  # `should reply in French` against `should reply in English`
        return Relation.CONTRADICTION if contradicts(b, a) else Relation.NONE
    if ends(a, b):
        return Relation.SUPERSEDES
    return Relation.CONTRADICTION if contradicts(b, a) else Relation.NONE
