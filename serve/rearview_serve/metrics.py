"""What /metrics shows. Labels are verbs and verdicts: never a text, an id or a tenant."""

from collections.abc import Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from rearview_pipelines.receipts import Receipt
from rearview_serve import __version__

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "rearview_requests",
            "HTTP requests answered.",
            ["route", "method", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "rearview_request_seconds",
            "Seconds from request to answer.",
            ["route", "method"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.receipts = Counter("rearview_writes", "Memories written, by verdict.", ["status"], registry=self.registry)
        self.recalled = Counter("rearview_recalled", "Memories handed out by recalls.", registry=self.registry)
        self.feedback = Counter(
            "rearview_feedback",
            "What callers thought of memories they were handed.",
            ["verdict"],
            registry=self.registry,
        )
        self.unused = Gauge(
            "rearview_recalled_unused",
            "Memories handed out since the start less those that a caller said it used.",
            registry=self.registry,
        )
        self.remembered = Gauge(
            "rearview_recalls_remembered",
            "Recalls since the start whose ranking was remembered.",
            registry=self.registry,
        )
        self._handed = self._used = 0
        self.recalls_empty = Counter(
            "rearview_recalls_empty", "Recalls that answered no memory.", registry=self.registry
        )
        self.degraded = Counter(
            "rearview_recalls_degraded", "Recalls that went without a part.", ["part"], registry=self.registry
        )
        self.rejected = Gauge(
            "rearview_rejected_rows",
            "Rows left out since the start: signature invalid.",
            registry=self.registry,
        )
        self.reasons = Counter(
            "rearview_write_reasons", "Reasons of receipts, by their first word.", ["reason"], registry=self.registry
        )
        self.redactions = Counter(
            "rearview_redactions", "Personal data taken out of writes, by entity.", ["entity"], registry=self.registry
        )
        self.lost = Counter(
            "rearview_observed_lost", "Observed turns that could not be kept after the reply.", registry=self.registry
        )
        self.tampered = Gauge(
            "rearview_tampered_rows",
            "Rows left out since the start, by what was wrong with them.",
            ["finding"],
            registry=self.registry,
        )
        Gauge("rearview_build", "The version that runs.", ["version"], registry=self.registry).labels(__version__).set(
            1
        )

    def wrote(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            self.receipts.labels(receipt.status.value).inc()
            for word in {reason.partition(":")[0] for reason in receipt.reasons}:
                self.reasons.labels(word).inc()
            for entity, count in receipt.redactions.items():
                self.redactions.labels(entity).inc(count)

    def answered(self, memories: int, degraded: Sequence[str]) -> None:
        """A recall or a context handed out so many memories."""
        self.recalled.inc(memories)
        self._handed += memories
        if not memories:
            self.recalls_empty.inc()
        for part in degraded:
            self.degraded.labels(part).inc()

    def judged(self, used: bool | None, helpful: bool | None) -> None:
        """A caller said whether it used a memory, or whether that helped."""
        if used is not None:
            self.feedback.labels("used" if used else "unused").inc()
        if helpful is not None:
            self.feedback.labels("helpful" if helpful else "unhelpful").inc()
        self._used += bool(used) or bool(helpful)

    def page(self, rejected_rows: int, tampered: Mapping[str, int], remembered: int = 0) -> bytes:
        self.unused.set(max(self._handed - self._used, 0))
        self.remembered.set(remembered)
        self.rejected.set(rejected_rows)
        for finding, count in tampered.items():
            self.tampered.labels(finding).set(count)
        return generate_latest(self.registry)
