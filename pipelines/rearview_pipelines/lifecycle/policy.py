"""How long memories stay hot, and how long at all: settings as one value."""

from dataclasses import dataclass, field
from datetime import timedelta

from rearview_pipelines.errors import SetupError
from rearview_pipelines.memory import Layer

TAG = "tag:"


@dataclass(frozen=True)
class Lifecycle:
    """Days unless said otherwise; the defaults are the contract's.

    half_life          after which an unused memory is worth half
    threshold          worth, 0 to 1, below which an episode is archived once it was unused for `unused`
    unused, hits       an episode unused for so long, and handed out fewer times, may be archived
    most_hot           an episode is archived by then, whatever it is worth; 0: never
    lesson_half_life   of the confidence in a lesson that is not used
    lesson_least       confidence below which a lesson is archived
    helpful            what a helpful use adds to the confidence in a lesson
    working_minutes    an idle session's working memory lives so long
    transcripts        kept so long
    capacity           hot rows of a store; 0: no limit
    capacity_tenant, capacity_user   hot memories of one; 0: no limit
    cold_days          cold memories older than this are forgotten; 0: never
    ttl                by layer, or `tag:NAME`: forgotten so long after it was written
    merge_days         between two consolidations; 0: never
    snapshots          kept of a tenant
    """

    half_life: float = 30.0
    threshold: float = 0.2
    unused: float = 30.0
    hits: int = 3
    most_hot: float = 90.0
    lesson_half_life: float = 90.0
    lesson_least: float = 0.3
    helpful: float = 0.05
    working_minutes: float = 30.0
    transcripts: float = 30.0
    capacity: int = 20_000
    capacity_tenant: int = 0
    capacity_user: int = 0
    cold_days: float = 0.0
    ttl: dict[str, float] = field(default_factory=dict)
    merge_days: float = 7.0
    snapshots: int = 7

    def __post_init__(self) -> None:
        layers = {layer.value for layer in Layer}
        for name, days in self.ttl.items():
            if name not in layers and not (name.startswith(TAG) and len(name) > len(TAG)):
                raise SetupError(f"REARVIEW_TTL: {name!r} is neither a layer nor tag:NAME")
            if days <= 0:
                raise SetupError(f"REARVIEW_TTL: {name!r} must be days above 0")

    @property
    def idle(self) -> timedelta:
        return timedelta(minutes=self.working_minutes)
