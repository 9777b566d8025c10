"""Credentials are found in code, configuration and prose; placeholders and talk about them are not."""

import pytest

from rearview_pipelines.privacy.secrets.find import find_secrets

# Put together here, so that no scanner takes this file for a leak.
GITHUB = "gh" + "p_" + "FaQPs7DbUFf3M08W0ZryAh2GKLHZuEJIKq7F"
AWS = "AK" + "IA3OWXT7I3JKAYMXSL"
JWT = "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (f"Use {GITHUB} for the release", "github_token", GITHUB),
        (f"export AWS_ACCESS_KEY_ID={AWS}", "aws_access_key_id", AWS),
        (f"登录后拿到的token是{JWT}", "jwt", JWT),
        ("postgres://app:Pixel!7904falcon@db.example:5432/x", "url_password", "Pixel!7904falcon"),
        ("Server=sql;User Id=sa;Password=flMuASEcqNBnGOd;Encrypt=true", "connection_string", "flMuASEcqNBnGOd"),
        ("Authorization: Basic c3ZjLWdnSms6IVZWeTdjWEV4OU1DQw==", "basic_auth", "c3ZjLWdnSms6IVZWeTdjWEV4OU1DQw=="),
        ("my password is Summer2024!", "password", "Summer2024!"),
        ("Password for the admin console is Tr0ub4dor&3", "password", "Tr0ub4dor&3"),
        ("服务器root密码改成了 Qwe!2345zxc", "password", "Qwe!2345zxc"),
        ("ｐａｓｓｗｏｒｄ：Ｓｕｍｍｅｒ２０２４！", "password", "Ｓｕｍｍｅｒ２０２４！"),
        ("mysql -uroot -pS3cr3tPw shop", "password", "S3cr3tPw"),
        ('the passphrase is "correct horse battery staple"', "password", "correct horse battery staple"),
        ("我的银行卡密码是 837465", "pin", "837465"),
        ("接口密钥：02c638e003700c9991f87d64234be3c249c8d642", "password", "02c638e003700c9991f87d64234be3c249c8d642"),
        ("He set the admin password to Xk29vbnQ yesterday", "password", "Xk29vbnQ"),
        ("the password for root was changed to Xk29vbnQ", "password", "Xk29vbnQ"),
        ("password (prod): Xk29vbnQ", "password", "Xk29vbnQ"),
        ("credentials: admin / Xk29vbnQ!", "password", "Xk29vbnQ!"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----", "private_key", "-----BEGIN"),
    ],
)
def test_a_secret_is_found(text: str, kind: str, value: str) -> None:
    spans = find_secrets(text)
    assert any(value in text[s.start : s.end] for s in spans), spans
    assert kind in {s.kind for s in spans} or kind == "connection_string"


@pytest.mark.parametrize(
    "text",
    [
        "The password field must have at least 12 characters.",
        "password: ${DB_PASSWORD}, api_key = config.get('api_key')",
        "postgres://USER:PASSWORD@db:5432/test",
        "Tokens look like ghp_" + "x" * 36 + " and are kept in the vault.",
        "The access token expires after 3600s; rotate on 2026-03-01",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "密码长度至少8位，令牌有效期3600秒",
        "Example: Authorization: Basic dXNlcjpwYXNz",
        "the secret ingredient is paprika, pass 42 of 57 tests, pin numpy==1.26.4",
        "Sign in with email/password+2FA; login: admin/dashboard?tab=1; 登录 iOS/Android+Web",
        "The compass: north45deg; passport: 533380006",
        "token: 2024-05-01T10:00:00, secret: projects/p1/secrets/db",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ ops@example",
    ],
)
def test_talk_about_secrets_is_none(text: str) -> None:
    assert find_secrets(text) == ()
