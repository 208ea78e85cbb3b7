"""Secrets that are known by their form."""

import pytest

from otel_raglog_proxy_bridge.secret_formats import is_credential, mask_formats

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----"
SECRETS = (
    "sk-proj-Ab12Cd34Ef56Gh78Ij90",
    "sk-ant-api03-AbCdEfGhIjKlMnOpQr",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy",
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
    "pcsk_4yXbT_AbCdEfGhIjKlMnOpQrStUv",
    "gsk_AbCdEfGhIjKlMnOpQrStUvWxYz",
    "tvly-dev-AbCdEfGhIjKlMnOp",
    "nvapi-AbCdEfGhIjKlMnOpQrStUv",
    "glpat-AbCdEfGhIjKlMnOpQrSt",
    "ya29.a0AfH6SMBx1234567890abcdef",
    JWT,
)


@pytest.mark.parametrize("secret", SECRETS)
def test_known_forms(secret):
    """A key of a known form is masked wherever it stands, and nothing around it is."""
    assert mask_formats(f"my key is {secret}, ok?") == "my key is ***, ok?"


@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_that_was_cut_off(secret):
    """The first characters of a key at the end of a cut body are masked as well."""
    beginning = secret[:12]
    assert beginning not in mask_formats(f"my key is {beginning}", cut=True)


def test_schemes_of_authorization():
    """What follows Bearer or Basic is masked; the words of a sentence are not."""
    assert mask_formats("Bearer abcdef123456") == "Bearer ***"
    assert mask_formats("Basic dXNlcjpwYXNzd29yZA==") == "Basic ***"
    assert mask_formats("the bearer of this letter") == "the bearer of this letter"
    assert mask_formats("Basic understanding of physics") == "Basic understanding of physics"


def test_private_keys():
    """A PEM block is masked as a whole, to the end where it is cut; a public one stays."""
    assert mask_formats(f"a\n{PEM}\nb") == "a\n***\nb"
    assert mask_formats(f"a\n{PEM[:50]}") == "a\n***"
    public = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----"
    assert mask_formats(public) == public


def test_users_in_urls():
    """User and password of a URL are masked; a port is no password."""
    assert mask_formats("postgres://me:pa55@db:5432/x") == "postgres://***@db:5432/x"
    assert mask_formats("http://db:5432/a@b") == "http://db:5432/a@b"
    assert "pa55" not in mask_formats("see postgres://me:pa55", cut=True)
    assert mask_formats("see http://db:5432", cut=True) == "see http://db:5432"


def test_webhooks():
    """The path of a webhook is its secret."""
    masked = mask_formats("https://hooks.slack.com/services/T00/B00/XXXX sends")
    assert masked == "https://hooks.slack.com/*** sends"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("api_key=abc12345 and more", "api_key=*** and more"),
        ("API Key: abc12345", "API Key: ***"),
        ("PASSWORD='correct-horse'", "PASSWORD='***'"),
        ("password=correct-horse", "password=***"),
        ("?key=abcdefghij&b=1", "?key=***&b=1"),
        ("AccountKey=abc123abc123==;x", "AccountKey=***;x"),
        ('{"client_secret": "abc12345"}', '{"client_secret": "***"}'),
        ("token: abcdef0123456789", "token: ***"),
        ("Cookie: a=b; c=d\nnext", "Cookie: ***\nnext"),
        ("<SecretAccessKey>wJalr</SecretAccessKey>", "<SecretAccessKey>***</SecretAccessKey>"),
    ],
)
def test_assignments(text, masked):
    """A value that is assigned to a name that tells a secret is masked."""
    assert mask_formats(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "The password: at least twelve characters.",
        "Primary key: customer_id2024",
        "key=value1234",
        "The token: Hello",
        "task-force-one-and-two-and-three",
        "sk-learn-is-a-library-for-python",
        "I like cookies: chocolate = best",
        "2024-01-01T00:00:00 a::b == c",
        "550e8400-e29b-41d4-a716-446655440000",
        "https://example.org/a?b=c:d@e",
    ],
)
def test_prose_stays(text):
    """Documents that speak of keys and passwords hold none."""
    assert mask_formats(text) == text


def test_parts_of_a_form_with_files():
    """A part of a multipart body is masked by its name."""
    body = '--b\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nwhatever\r\n--b--'
    assert "whatever" not in mask_formats(body)


def test_an_assignment_that_was_cut():
    """Of a value whose end is missing not a character stays."""
    assert mask_formats("api_key=ab", cut=True) == "api_key=***"


def test_credentials():
    """A credential is long, and of letters and digits without a blank."""
    assert is_credential("abcdef0123456789")
    assert not is_credential("Hello")
    assert not is_credential("a sentence with 12 words and blanks")
    assert not is_credential("abcdefghijklmnopqrstuv")
