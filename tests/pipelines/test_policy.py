"""A policy that cannot be followed is refused when it is read, naming the setting."""

from typing import Any

import pytest

from rearview_pipelines.errors import SetupError
from rearview_pipelines.privacy.policy import Action, read_policy


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"preset": "most"}, "REARVIEW_PRIVACY"),
        ({"actions": {"SHOE_SIZE": "mask"}}, "SHOE_SIZE"),
        ({"actions": {"PHONE_NUMBER": "burn"}}, "REARVIEW_PRIVACY_ACTIONS"),
        ({"threshold": 1.5}, "REARVIEW_PRIVACY_THRESHOLD"),
        ({"threshold": -0.1}, "REARVIEW_PRIVACY_THRESHOLD"),
        ({"secrets": "publish"}, "REARVIEW_SECRETS"),
        ({"patterns": [{"entity": "X", "pattern": "("}]}, "REARVIEW_PRIVACY_PATTERNS"),
        ({"patterns": [{"entity": "BADGE", "pattern": "(a+)+$"}]}, "backtracks"),
        ({"patterns": [{"entity": "BADGE", "pattern": "x*"}]}, "empty"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(SetupError, match=named):
        read_policy(**given)


def test_defaults_and_own_entities() -> None:
    policy = read_policy(
        patterns=[{"entity": "BADGE", "pattern": "B-[0-9]{4}"}], actions={"BADGE": "hash", "IP_ADDRESS": "keep"}
    )
    assert policy.action("EMAIL_ADDRESS") is Action.REPLACE
    assert policy.action("BADGE") is Action.HASH
    assert "BADGE" in policy.entities
    assert "IP_ADDRESS" not in policy.entities
    assert read_policy(preset="off").entities == ()
