"""Presidio, imported in one place: without what it does not need, and without the network.

Presidio and spaCy look for PyTorch and transformers and load them where they are installed: nine
seconds at start and 800 MB, for nothing that is used here. They are hidden while it is imported.
tldextract would fetch a list of suffixes on its first use: its packaged list is set instead.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder

_HIDDEN = frozenset({"torch", "transformers", "stanza", "gliner", "cupy", "tensorflow", "mxnet"})


class _Hidden(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> None:
        if name.partition(".")[0] in _HIDDEN:
            raise ModuleNotFoundError(f"{name} is hidden while Presidio is imported", name=name)


@contextmanager
def _without_torch() -> Iterator[None]:
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)


with _without_torch():
    import tldextract
    from presidio_analyzer import (
        AnalyzerEngine,
        ContextAwareEnhancer,
        Pattern,
        PatternRecognizer,
        RecognizerRegistry,
        RecognizerResult,
    )
    from presidio_analyzer.nlp_engine import NlpArtifacts, NlpEngine, NoOpNlpEngine, SpacyNlpEngine
    from presidio_analyzer.predefined_recognizers import SpacyRecognizer

_offline = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
tldextract.extract = _offline
tldextract.tldextract.TLD_EXTRACTOR = _offline

__all__ = [
    "AnalyzerEngine",
    "ContextAwareEnhancer",
    "NlpArtifacts",
    "NlpEngine",
    "NoOpNlpEngine",
    "Pattern",
    "PatternRecognizer",
    "RecognizerRegistry",
    "RecognizerResult",
    "SpacyNlpEngine",
    "SpacyRecognizer",
]
