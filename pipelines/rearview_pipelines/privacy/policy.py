"""What is done to personal data and secrets: the policy, checked when it is read."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

import regex
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rearview_pipelines.errors import SetupError

PATTERN_ENTITIES = (
    "EMAIL_ADDRESS", "PHONE_NUMBER", "CREDIT_CARD", "BANK_CARD", "IBAN_CODE", "CN_ID_CARD", "CN_USCC", "PASSPORT",
    "DRIVER_LICENSE", "LICENSE_PLATE", "WECHAT_ID", "QQ_ID", "US_SSN", "IP_ADDRESS",
)  # fmt: skip
"""Told by their form: preset `patterns`."""
STRICT_ENTITIES = (*PATTERN_ENTITIES, "PERSON", "LOCATION", "ADDRESS", "DATE_OF_BIRTH")
"""Preset `strict`: names and places besides, which need a language model (spaCy) for English."""
NAMED = ("PERSON", "LOCATION")
"""Told by a language model."""
PRESETS: Mapping[str, tuple[str, ...]] = {"patterns": PATTERN_ENTITIES, "strict": STRICT_ENTITIES, "off": ()}
PATTERN_SECONDS = 0.1
"""How long a pattern of the user's own may take for one text."""


class Action(StrEnum):
    REPLACE = "replace"
    """By the entity's name in angle brackets."""
    MASK = "mask"
    """Each letter and digit by an asterisk."""
    HASH = "hash"
    """By the entity's name and a keyed hash: the same value in one tenant gives the same hash."""
    ENCRYPT = "encrypt"
    """By a token that a holder of the right `reveal` can turn back."""
    REJECT = "reject"
    """Do not keep the memory."""
    KEEP = "keep"


class OnSecret(StrEnum):
    REFUSE = "refuse"
    REDACT = "redact"


def _compiles(value: str) -> str:
    try:
        pattern = regex.compile(value, regex.IGNORECASE)
    except regex.error as error:
        raise ValueError(f"is not a regular expression ({error})") from error
    for sign in ("a", "1", "a1", " ", "-", "中"):
        try:
            if pattern.search(sign * 4000 + "!", timeout=PATTERN_SECONDS):
                continue
        except TimeoutError as error:
            raise ValueError(
                "backtracks for too long on repeated characters; make its parts exclude each other"
            ) from error
    if pattern.match(""):
        raise ValueError("matches the empty text")
    return value


class CustomPattern(BaseModel):
    """A form of personal data that only its users know, such as an employee number."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    entity: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{1,39}$")]
    pattern: Annotated[str, Field(max_length=500), AfterValidator(_compiles)]


class Policy(BaseModel):
    """The privacy policy of a store."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    preset: Literal["patterns", "strict", "off"] = "patterns"
    actions: Mapping[str, Action] = Field(default_factory=dict)
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    patterns: tuple[CustomPattern, ...] = ()
    secrets: OnSecret = OnSecret.REFUSE

    @property
    def entities(self) -> tuple[str, ...]:
        """What is looked for: the preset's, the user's own, and nothing that is kept anyway."""
        own = tuple(p.entity for p in self.patterns)
        return tuple(e for e in dict.fromkeys(PRESETS[self.preset] + own) if self.action(e) is not Action.KEEP)

    @property
    def needs_names(self) -> bool:
        """Whether a language model has to be there."""
        return bool(set(NAMED) & set(self.entities))

    def action(self, entity: str) -> Action:
        return self.actions.get(entity, Action.REPLACE)


def read_policy(**given: object) -> Policy:
    """A policy from settings. Raises SetupError naming the setting and what is wrong with it."""
    try:
        policy = Policy.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in problem["loc"])
        raise SetupError(f"{_setting(where)}: {problem['msg']}") from error
    known = {*STRICT_ENTITIES, *(p.entity for p in policy.patterns)}
    for entity in policy.actions:
        if entity not in known:
            raise SetupError(
                f"REARVIEW_PRIVACY_ACTIONS: {entity!r} is not an entity; the entities are {', '.join(sorted(known))}"
            )
    return policy


def _setting(where: str) -> str:
    name, _, rest = where.partition(".")
    setting = {"preset": "REARVIEW_PRIVACY", "secrets": "REARVIEW_SECRETS"}.get(
        name, f"REARVIEW_PRIVACY_{name.upper()}"
    )
    return f"{setting} ({rest})" if rest else setting
