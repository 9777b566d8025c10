"""All of it together: the credentials of a text."""

from collections.abc import Iterator

from rearview_pipelines.privacy.normalise import normalised
from rearview_pipelines.privacy.secrets import named, packaged, shapes
from rearview_pipelines.privacy.spans import Span, merged


def find_secrets(text: str) -> tuple[Span, ...]:
    """Credentials in a text: in order, apart; `kind` is the code that a receipt shows, never the value."""
    plain = normalised(text)
    if not plain.text:
        return ()
    spans = list(_all(plain.text))
    if not spans:
        return ()
    # A known issuer says more than the word beside it.
    ranked = (Span(*plain.back(s.start, s.end), s.kind, 0.5 if s.kind in _VAGUE else 1.0) for s in spans)
    return merged(ranked)


_VAGUE = frozenset({"password", "pin", "named_token", "bearer_token", "generic_sk_key", "url_token", "url_password"})


def _all(text: str) -> Iterator[Span]:
    yield from packaged.find(text)
    yield from shapes.find(text)
    yield from named.find(text)
