"""Secrets as people write them, and texts that only speak of them."""

import pytest

from otel_raglog_proxy_bridge.masking import mask_text

HIDDEN = (
    "curl -u me:zq8vwpass1 https://h",
    "curl -H 'Authorization: Basic emE6enE4dnc='",
    "x --password zq8vw!pass",
    "x --token=zq8vwabcd",
    '<c password="zq8v"/>',
    "<password><![CDATA[zq8vw]]></password>",
    '<add key="ApiKey" value="zq8vw"/>',
    "PASSWORD=zq8vw1",
    'api_key: "zq8vword"',
    "db_password: zq8vw-horse-x",
    "https://zq8vwtoken@h/x",
    "see https://h/cb#access_token=zq8vwabc",
    "https://h/?sig=zq8vw%2Babc&x=1",
    "Authorization: Token zq8vw12345",
    "('x-api-key', 'zq8vw')",
    "password = 'zq8vw'",
    '{"value":"zq8vw","name":"api_key"}',
    '[["x-api-key","zq8vw"]]',
    '{"name":"password","type":"text","value":"zq8vw"}',
    '{"password2":"zq8vw"}',
    '{"SecretString":"zq8vw"}',
    '{"user_pass":"zq8vw"}',
    '{"jwt":"zq8vw"}',
    '{"appKey":"zq8vw"}',
    '{"auth":"zq8vw"}',
    "Pwd=zq8vw;Server=x",
    "postgres://u:p@zq8vw@h/db",
)
KEPT = (
    "Bearer of bad news",
    'os.environ["API_KEY"]',
    "def f(token: str, password: str = ''):",
    "password = getpass()",
    "password=getpass.getpass()",
    "max_tokens: 4096",
    '{"session_id": "550e8400-e29b-41d4-a716-446655440000"}',
    '{"author": "Ann", "authors": ["Bob Smith"]}',
    "550e8400-e29b-41d4-a716-446655440000",
    "9f86d081884c7d659a2feaa0c55ad015",
    "the secret to good bread: patience",
    "api_key=os.environ.get('X')",
    "api_key=settings.openai_api_key",
    "--password is required",
    "https://medium.com/@user/x",
    "git clone ssh://git@github.com/a/b",
    "Authorization: required for all users",
    "Password: case",
    "Basic understanding of authorization: basic rules",
    'key: "value"',
    "auth: none",
    "https://h/a?q=hello+world&lang=english",
    "docker run -u 1000:1000 img",
    '{"input": ["api key", "password reset"]}',
    '{"name":"author","value":"Ann Smith"}',
    "password: string",
    "token = tokenizer.encode(text)",
)


@pytest.mark.parametrize("text", HIDDEN)
def test_written_secrets_are_masked(text):
    """Command lines, header lines, settings, XML, URLs in texts, fields and pairs."""
    assert "zq8v" not in mask_text(text)


@pytest.mark.parametrize("text", KEPT)
def test_texts_that_only_speak_of_secrets_stay(text):
    """What a program or a document says of keys and passwords changes no verdict."""
    assert mask_text(text) == text
