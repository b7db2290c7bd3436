"""A value behind a password's name is masked where it looks like one; prose, placeholders and code stay."""

from __future__ import annotations

import json

import pytest

from crosswind.gateway.recorder.redaction import Redactor
from crosswind.gateway.recorder.remains import Remains

PASSWORDS = (
    "Winter2026!x9",
    "hunter22secret",
    "Tr0ub4dor&3",
    "aXbYcZdWeVf",
    "Winter2026(x)9y",
    "Summer!Rain",
    "9f8e7d6c5b4a",
)
FORMS = (
    "password={}",
    "password: {}",
    "The password: {}, as you asked.",
    '{{"password": "{}"}}',
    '{{"user":"bob","dbPassword":"{}","port":5432}}',
    "DB_PASSWORD={}",
    "export PGPASSWORD='{}'",
    "db:\n  passwd: {}\n  host: db1",
    "CLIENT_SECRET = {}",
    "wifi passphrase: `{}`",
    "**Password:** {}",
    "Server=db1;Uid=sa;Pwd={};Encrypt=yes",
    "https://example.com/login?user=bob&password={}&next=home1234",
    "user=bob&new_password={}&next=home1234",
    'connect(user="bob", password="{}")',
    'os.environ["DB_PASSWORD"] = "{}"',
    "password: str = '{}'",
    "{{password: {}}}",
)  # fmt: skip
HARMLESS = (
    '{"password": {"type": "string", "minLength": 8}}',
    '{"password":{"type":"string","pattern":"^[A-Za-z0-9]{8,}$"},"secret":{"$ref":"#/definitions/secret1"}}',
    '{"password": null, "secret": true, "pwd": "", "passphrase": false}',
    '{"password": 123456789, "secret": 12345678.25, "pwd": -1234567e12}',
    '{"a":[{"secret":123456789}],"b":[[{"pwd":true}]]}',
    '{"password": "must have 8 characters or more"}',
    '{"password": "string"}, {"password": "varchar(255)"}, {"password": "required|min:8|confirmed"}',
    '{"password": "<PASSWORD1>", "secret": "${DB_SECRET_2}", "pwd": "{{ pwd1 }}", "passwd": "********1"}',
    '{"password": "your-password-1", "client_secret": "YOUR_CLIENT_SECRET_1", "pwd": "changeme123"}',
    '{"existingSecret": "postgres-credentials-2", "secret": "prod/db1/password"}',
    '{"type": "password", "name": "password1", "id": "password2"}',
    "password: your account's password",
    "password=<PASSWORD>",
    "password: str",
    "password: str = None, host: str",
    "Enter your password: it must have 8 characters.",
    "Password: 8-character minimum, 12characters are better.",
    "The secret: 350-degree heat, since 1950-01-01, and a 19th-century oven.",
    "Forgot your password: write to support2@example.com or see https://example.com/reset1.",
    "Passwords: 12345abcde is a bad one.",
    "password=%s, secret=:secret1, pwd=@Password1, passphrase=$PASSPHRASE1",
    "password=self.config.db1_password, secret=os.environ['SECRET1'], pwd = getenv2('PWD')",
    "password = decode64('x'), passphrase=sha256(word), secret=args[2]",
    "if password1 == password2 and form.password != password2:",
    "secret = base64.b64decode(secret[6:]), is_password: FilterOrBool = True, password: secret|passcode",
    "password: userPassword, secret: clientSecret, pwd=currentPwd1",
    "PWD=/home/user1/project2 OLDPWD=~/work2/app3 pwd: ./build2/out4 PWD=/tmp/build~1/x7",
    "/etc/passwd:12:root:x:0:0:root:/root:/bin/bash",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:shop-db-x1Y2z3",
    "password: scram-sha-256, password: argon2id",
    "secret: client_secret_1234.json, --secret=projects/my-project/secrets/my-secret/versions/12",
    "password: min_length=8",
    "[sudo] password:\nroot2@server01:~$ ls",
    "import secrets; secrets.token_hex(16)",
    "secret: correct-horse-battery-staple",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_behind_its_name_is_masked(form: str, password: str) -> None:
    text = form.format(password)
    for spelled in (text, json.dumps({"content": text}), json.dumps({"arguments": json.dumps({"q": text})})):
        masked = Redactor("redact").mask_text(spelled)
        assert "[redacted]" in masked and password[:6] not in masked and password[-4:] not in masked
        if spelled is not text:
            assert json.loads(masked)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_names_a_password_and_holds_none_stays(text: str) -> None:
    for spelled in (text, json.dumps({"content": text}), json.dumps({"arguments": json.dumps({"q": text})})):
        assert Redactor("redact").mask_text(spelled) == spelled


def test_the_words_in_a_password_stay_elsewhere() -> None:
    redactor = Redactor("redact").of_turn((), Remains())
    assert redactor.mask_text("password=password2026x") == "password=[redacted]"
    assert (
        redactor.mask_text('{"password": "string", "year": 202612}')
        == '{"password": "string", "year": 202612}'
    )
    assert redactor.mask_text("my passw ord20 26x there") == "my [redacted] there"
