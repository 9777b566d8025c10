"""detect-secrets' detectors of fixed shapes, used one by one: precise, offline, 40 microseconds together.

Its entropy, keyword and basic-auth detectors are left out: on prose they find half of what ours do and
flag placeholders; its JWT and OpenAI ones because ours cover them and do not backtrack. `verify`, which would ask the issuer over the network, is never called.
"""

from collections.abc import Iterator

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from rearview_pipelines.privacy.secrets.placeholders import is_placeholder
from rearview_pipelines.privacy.spans import Span

_SHORTEST = 16
"""Characters of a value; a shorter part of a match is its prefix or its host."""
_DETECTORS: dict[str, RegexBasedDetector] = {
    "artifactory_token": ArtifactoryDetector(),
    "aws_access_key_id": AWSKeyDetector(),
    "azure_storage_key": AzureStorageKeyDetector(),
    "cloudant_key": CloudantDetector(),
    "discord_bot_token": DiscordBotTokenDetector(),
    "github_token": GitHubTokenDetector(),
    "gitlab_token": GitLabTokenDetector(),
    "ibm_cloud_key": IbmCloudIamDetector(),
    "mailchimp_key": MailchimpDetector(),
    "npm_token": NpmDetector(),
    "pypi_token": PypiTokenDetector(),
    "sendgrid_key": SendGridDetector(),
    "slack_token": SlackDetector(),
    "softlayer_key": SoftlayerDetector(),
    "square_token": SquareOAuthDetector(),
    "stripe_key": StripeDetector(),
    "telegram_bot_token": TelegramBotTokenDetector(),
    "twilio_key": TwilioKeyDetector(),
}


_PATTERNS = [(kind, pattern) for kind, detector in _DETECTORS.items() for pattern in detector.denylist]


def find(text: str) -> Iterator[Span]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            # Where the pattern has a part for the value, the value; else all that matched.
            group = next((g for g in range(pattern.groups, 0, -1) if len(match[g] or "") >= _SHORTEST), 0)
            if not is_placeholder(match[group]):
                start, end = match.span(group)
                yield Span(start, end, kind)
