"""What the configuration promises: three sources, one order, and errors that name the option."""

import json
import re
from pathlib import Path

import pytest

from otel_raglog.config import (
    Config,
    is_loopback,
    known_options,
    load_config,
    read_judge_key,
    read_mappings_folder,
    read_redaction_key,
    read_secret,
    read_tokens,
    show_config,
)
from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal
from otel_raglog.options import Auth, Judge, Redaction, otlp_kind


def write(tmp_path, text):
    path = tmp_path / "raglog.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_listen_on_loopback_only():
    """Nothing is open to the network unless somebody says so."""
    config = load_config(environ={})
    hosts = {
        config.receive.grpc.host,
        config.receive.http.host,
        config.metrics.host,
        config.health.host,
        config.api.host,
    }
    assert hosts == {"127.0.0.1"}
    assert (config.receive.grpc.port, config.receive.http.port) == (4317, 4318)
    assert (config.metrics.port, config.health.port, config.api.port) == (9464, 13133, 13134)


def test_environment_wins_over_file_and_overrides_win_over_both(tmp_path):
    """Command line, then environment, then file, then defaults."""
    path = write(
        tmp_path, "hold: {quiet_seconds: 1, max_wait_seconds: 60}\nmetrics: {port: 1111}\n"
    )
    config = load_config(
        path,
        {"metrics": {"port": 3333}},
        {"OTEL_RAGLOG_METRICS__PORT": "2222", "OTEL_RAGLOG_HOLD__QUIET_SECONDS": "2.5"},
    )
    assert config.metrics.port == 3333
    assert config.hold.quiet_seconds == 2.5
    assert config.hold.max_wait_seconds == 60
    assert config.hold.orphan_quiet_seconds == 15


def test_the_file_can_be_named_by_a_variable(tmp_path):
    """OTEL_RAGLOG_CONFIG names the file when no option does."""
    path = write(tmp_path, "log_level: debug\n")
    assert load_config(environ={"OTEL_RAGLOG_CONFIG": str(path)}).log_level == "debug"


def test_every_option_can_be_set_by_environment():
    """An option a.b is OTEL_RAGLOG_A__B, for each option there is."""
    defaults = load_config(environ={}).model_dump(mode="json")
    options = [option for option in known_options() if option != "exporters"]
    assert len(options) > 30
    for option in options:
        value = defaults
        for part in option.split("."):
            value = value[part]
        variable = "OTEL_RAGLOG_" + option.replace(".", "__").upper()
        changed = load_config(environ={variable: json.dumps(value)})
        assert changed.model_dump(mode="json") == defaults


def test_an_exporter_can_be_set_by_environment():
    """The names of destinations are the user's own, in variables too."""
    config = load_config(
        environ={
            "OTEL_RAGLOG_EXPORTERS__BACKEND__KIND": "otlp_http",
            "OTEL_RAGLOG_EXPORTERS__BACKEND__ENDPOINT": "http://127.0.0.1:9/v1/traces",
        }
    )
    assert config.exporters["backend"].kind == "otlp_http"
    assert config.exporters["backend"].options == {"endpoint": "http://127.0.0.1:9/v1/traces"}


def test_a_destination_may_be_just_an_endpoint(tmp_path):
    """The short form is OTLP over gRPC, or over HTTP where the endpoint says so."""
    config = load_config(write(tmp_path, "exporters: {phoenix: http://phoenix:4317}\n"), {}, {})
    assert config.exporters["phoenix"].kind == "otlp_grpc"
    assert config.exporters["phoenix"].options == {"endpoint": "http://phoenix:4317"}
    config = load_config(write(tmp_path, "exporters: {phoenix: http://phoenix:4318}\n"), {}, {})
    assert config.exporters["phoenix"].kind == "otlp_http"


@pytest.mark.parametrize(
    ("endpoint", "kind"),
    [
        ("http://host:4317", "otlp_grpc"),
        ("http://host:4317/", "otlp_grpc"),
        ("https://host", "otlp_grpc"),
        ("host:4317", "otlp_grpc"),
        ("http://host:4318", "otlp_http"),
        ("http://host:4318/", "otlp_http"),
        ("http://[fd00::1]:4318", "otlp_http"),
        ("https://host/otlp", "otlp_http"),
        ("https://host/v1/traces", "otlp_http"),
        ("http://host:14318", "otlp_grpc"),
    ],
)
def test_the_protocol_of_an_endpoint(endpoint, kind):
    """HTTP has a path, or the port of OTLP/HTTP, as with OTEL_EXPORTER_OTLP_ENDPOINT."""
    assert otlp_kind(endpoint) == kind
    for written in (endpoint, {"endpoint": endpoint}):
        config = load_config(overrides={"exporters": {"b": written}}, environ={})
        assert config.exporters["b"].kind == kind


@pytest.mark.parametrize(
    ("text", "named", "nearest"),
    [
        ("hold: {quiet_second: 1}", "hold.quiet_second", "hold.quiet_seconds"),
        ("holds: {quiet_seconds: 1}", "holds", "hold"),
        ("metrics: {prot: 1}", "metrics.prot", "metrics.port"),
        (
            "conventions: {custom: [{name: a, match: {span_name: a}, querry: b}]}",
            "conventions.custom.0.querry",
            "conventions.custom.0.query",
        ),
        (
            "conventions: {custom: [{name: a, match: {spam_name: a}, query: b}]}",
            "conventions.custom.0.match.spam_name",
            "conventions.custom.0.match.span_name",
        ),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(tmp_path, text, named, nearest):
    """A typo costs a glance, not an hour."""
    with pytest.raises(ConfigError, match=named) as caught:
        load_config(write(tmp_path, text), {}, {})
    assert f"did you mean {nearest}" in str(caught.value)


def test_an_unknown_variable_names_the_nearest_known_one():
    """Variables are checked like keys: a misspelled one is not ignored."""
    with pytest.raises(ConfigError, match="OTEL_RAGLOG_HOLD__QUIET_SECOND is no option") as caught:
        load_config(environ={"OTEL_RAGLOG_HOLD__QUIET_SECOND": "1"})
    assert "OTEL_RAGLOG_HOLD__QUIET_SECONDS" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("hold: {quiet_seconds: soon}", "hold.quiet_seconds"),
        ("hold: {max_wait_seconds: -1}", "hold.max_wait_seconds"),
        ("receive: {grpc: {port: 70000}}", "receive.grpc.port"),
        ("join: {by: user}", "join.by"),
        ("join: {window_seconds: 0}", "join.window_seconds"),
        ("log_level: loud", "log_level"),
        ("hold: 5", "hold"),
    ],
)
def test_a_wrong_value_names_the_option_and_the_value(tmp_path, text, option):
    """The message can be acted on without the docs."""
    with pytest.raises(ConfigError, match=option):
        load_config(write(tmp_path, text), {}, {})


@pytest.mark.parametrize("text", ["- a\n- b\n", "hold: [", "\tx: 1"])
def test_a_file_that_is_no_mapping_is_refused_by_name(tmp_path, text):
    """Broken YAML is a sentence, not a stack trace."""
    with pytest.raises(ConfigError, match=r"raglog\.yaml"):
        load_config(write(tmp_path, text), {}, {})


def test_a_missing_file_is_refused_by_name(tmp_path):
    """So is a file that is not there."""
    with pytest.raises(ConfigError, match="cannot read the configuration file"):
        load_config(tmp_path / "none.yaml", {}, {})


def test_show_hides_header_values(tmp_path):
    """Secrets do not reach a terminal."""
    config = load_config(
        write(
            tmp_path,
            "exporters: {b: {kind: otlp_http, endpoint: http://h, headers: {authorization: s3cret}}}",
        ),
        {},
        {},
    )
    shown = show_config(config)
    assert "s3cret" not in shown
    assert "authorization" in shown


def test_the_schema_describes_every_option():
    """`config schema` is complete enough for an editor to help."""
    schema = Config.model_json_schema()
    text = str(schema)
    for option in known_options():
        assert f"'{option.rpartition('.')[2]}'" in text


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_RAGLOG_EXPORTERS__A": "http://x:1", "OTEL_RAGLOG_EXPORTERS__A__KIND": "otlp_http"},
        {"OTEL_RAGLOG_EXPORTERS": "x", "OTEL_RAGLOG_EXPORTERS__A": "http://x:1"},
    ],
)
def test_variables_that_exclude_each_other_are_named(variables):
    """A whole and a part of it cannot both be set."""
    with pytest.raises(ConfigError, match="OTEL_RAGLOG_EXPORTERS__A"):
        load_config(environ=variables)


@pytest.mark.parametrize("value", [".inf", ".nan", "1e12"])
def test_seconds_are_finite_and_sane(value):
    """No thread can wait that long."""
    with pytest.raises(ConfigError, match="shutdown_grace_seconds"):
        load_config(environ={"OTEL_RAGLOG_SHUTDOWN_GRACE_SECONDS": value})


def test_a_key_given_twice_is_refused(tmp_path):
    """YAML alone would keep the last one in silence."""
    with pytest.raises(ConfigError, match="given twice"):
        load_config(write(tmp_path, "hold: {quiet_seconds: 1}\nhold: {max_wait_seconds: 9}\n"))


def test_show_hides_secrets_in_endpoints(tmp_path):
    """Users, passwords and keys are put into URLs as well."""
    text = "exporters: {b: {kind: otlp_http, endpoint: 'http://me:pw1@host:1/v1/traces?key=k2'}}"
    shown = show_config(load_config(write(tmp_path, text), {}, {}))
    assert "pw1" not in shown
    assert "k2" not in shown
    assert "host:1/v1/traces" in shown


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:4317", "localhost:4318", "http://[::1]:4317"]
)
def test_a_destination_that_is_our_own_door_is_refused(endpoint):
    """Each span would come back for ever."""
    with pytest.raises(ConfigError, match="own door"):
        load_config(None, {"exporters": {"b": {"endpoint": endpoint}}}, {})


def test_yaml_merge_keys_are_no_repetition(tmp_path):
    """Anchors and merges are plain YAML."""
    text = "exporters:\n  one: &one {kind: console}\n  two: {<<: *one, only_faulty: true}\n"
    config = load_config(write(tmp_path, text), {}, {})
    assert config.exporters["two"].options == {"only_faulty": True}


def test_yaml_that_is_nested_without_end_is_refused_by_name(tmp_path):
    """No stack trace."""
    with pytest.raises(ConfigError, match=r"raglog\.yaml"):
        load_config(write(tmp_path, "a: " + "[" * 5000), {}, {})


def test_the_journal_is_kept_where_state_belongs():
    """$XDG_STATE_HOME, else ~/.local/state; dead letters are kept beside it."""
    config = load_config(environ={"HOME": "/home/me"})
    assert config.journal.path == Path("/home/me/.local/state/otel-raglog")
    assert config.dead_letters.path == config.journal.path / "dead-letters"
    config = load_config(environ={"HOME": "/home/me", "XDG_STATE_HOME": "/state"})
    assert config.journal.path == Path("/state/otel-raglog")
    config = load_config(environ={"OTEL_RAGLOG_JOURNAL__PATH": "/j"})
    assert config.journal.path == Path("/j")


def test_without_a_journal_nothing_is_written_unless_asked_for():
    """Dead letters can still have a folder of their own."""
    config = load_config(environ={"OTEL_RAGLOG_JOURNAL__ENABLED": "false"})
    assert config.dead_letters.path is None
    config = load_config(None, {"journal": {"enabled": False}, "dead_letters": {"path": "/d"}}, {})
    assert config.dead_letters.path == Path("/d")


def test_a_destination_takes_every_signal_unless_told_otherwise(tmp_path):
    """Applications set one endpoint for all."""
    text = "exporters: {all: http://a:4317, some: {endpoint: http://b:4317, signals: [traces]}}"
    config = load_config(write(tmp_path, text), {}, {})
    assert config.exporters["all"].signals is None  # all that its kind takes
    assert config.exporters["some"].signals == (Signal.TRACES,)
    with pytest.raises(ConfigError, match=r"exporters\.b\.signals"):
        load_config(None, {"exporters": {"b": {"signals": ["spans"]}}}, {})
    with pytest.raises(ConfigError, match="takes no signal"):
        load_config(None, {"exporters": {"b": {"signals": []}}}, {})


RULE = "{name: a, match: {span_name: kb}, "
WRONG = [
    ("receive: 5", "receive: must be a mapping of options (auth, forward_headers, "),
    ("receive: {grpc: 4317}", "receive.grpc: must be a mapping of options (host, port) (got 4317)"),
    ("receive: {grpc: {port: x}}", "receive.grpc.port: must be a whole number (got 'x')"),
    ("receive: {grpc: {port: 1.5}}", "receive.grpc.port: must be a whole number (got 1.5)"),
    ("receive: {grpc: {port: 70000}}", "receive.grpc.port: must be 65535 or less (got 70000)"),
    ("receive: {grpc: {port: -1}}", "receive.grpc.port: must be 0 or more (got -1)"),
    ("receive: {grpc: {port: null}}", "receive.grpc.port: must be a whole number (got nothing)"),
    ("receive: {grpc: {host: 5}}", "receive.grpc.host: must be text (got 5)"),
    ("receive: {forward_headers: x}", "receive.forward_headers: must be a list, such as [a, b]"),
    ("receive: {forward_headers: [1]}", "receive.forward_headers.0: must be text (got 1)"),
    ("journal: {enabled: maybe}", "journal.enabled: must be true or false (got 'maybe')"),
    ("journal: {path: 5}", "journal.path: must be a path, as text (got 5)"),
    ("journal: {fsync: always}", "journal.fsync: must be 'none' or 'group' (got 'always')"),
    ("journal: {max_mib: 0}", "journal.max_mib: must be more than 0 (got 0)"),
    ("journal: {max_mib: .inf}", "journal.max_mib: must be a finite number"),
    ("journal: {max_mib: x}", "journal.max_mib: must be a number (got 'x')"),
    (
        "analysis: {checks: rules}",
        "analysis.checks: must be a list, such as [rules, similarity, alignment, crossencoder, support]",
    ),
    (
        "analysis: {checks: [rulez]}",
        "analysis.checks.0: must be 'rules', 'similarity', 'alignment', 'crossencoder' or 'support'",
    ),
    ("analysis: {detector: ''}", "analysis.detector: must not be empty"),
    (
        "analysis: {thresholds: {foo: 0.3}}",
        "analysis.thresholds: the name foo must be 'rewriter', 'embedder', 'retriever', ",
    ),
    ("analysis: {cross_encoder: ''}", "analysis.cross_encoder: must not be empty"),
    ("exporters: []", "exporters: must be a mapping of names and values"),
    ("exporters: {b: 5}", "exporters.b: must be an endpoint, or a mapping of kind, endpoint and"),
    ("exporters: {5: 'http://h:1'}", "exporters: the name 5 must be text: write it in quotes"),
    ("exporters: {b: {kind: 5}}", "exporters.b.kind: must be text"),
    ("exporters: {b: {signals: x}}", "exporters.b.signals: must be a list, such as [traces, "),
    ("exporters: {b: {signals: [x]}}", "exporters.b.signals.0: must be 'traces', 'metrics' or"),
    ("exporters: {b: {signals: []}}", "exporters.b.signals: must not be empty"),
    ("conventions: 5", "conventions: must be a mapping of options (custom)"),
    ("conventions: {custom: 5}", "conventions.custom: must be a list, such as [a, b]"),
    ("conventions: {custom: [a]}", "conventions.custom.0: must be a mapping of options (answer, "),
    ("conventions: {custom: [{name: a}]}", "conventions.custom.0.match: is missing"),
    (
        "conventions: {custom: [{name: a, match: kb}]}",
        "conventions.custom.0.match: must be a mapping",
    ),
    (RULE + "stage: llm}", "conventions.custom.0.stage: must be 'rewriter', 'embedder', "),
    (
        RULE + "query: 5}",
        "conventions.custom.0.query: must be the key of an attribute, a mapping of",
    ),
    (
        RULE + "query: null}",
        "conventions.custom.0.query: must be the key of an attribute, a mapping",
    ),
    (RULE + "query: ''}", "conventions.custom.0.query.0.attribute: must not be empty"),
    (
        RULE + "query: {attribute: 5}}",
        "conventions.custom.0.query.0.attribute: must be text (got 5)",
    ),
    (RULE + "query: {path: a}}", "conventions.custom.0.query.0: says neither attribute nor event"),
    (RULE + "query: 'app.*'}", "conventions.custom.0.query.0.attribute: 'app.*' can never match"),
    (
        RULE + "score_kind: best}",
        "conventions.custom.0.score_kind: must be 'similarity' or 'distance'",
    ),
    (
        RULE + "tokens: x}",
        "conventions.custom.0.tokens: must be a mapping of options (completion, ",
    ),
    (RULE + "tokens: {prompt: 5}}", "conventions.custom.0.tokens.prompt: must be the key of an"),
    (
        "conventions: {custom: [{name: a, match: {attributes: {x: [y]}}}]}",
        'conventions.custom.0.match.attributes.x: must be one value or glob as text, or "*"',
    ),
    (
        "conventions: {custom: [{name: a, match: {attributes: {5: y}}}]}",
        "conventions.custom.0.match.attributes: the name 5 must be text: write it in quotes",
    ),
    (
        "conventions: {custom: [{name: a, match: {attributes: {'*': y}}}]}",
        "conventions.custom.0.match.attributes: '*' can never match: the key of an attribute is",
    ),
    ("join: yes", "join: must be a mapping of options (by, enabled, "),
    ("5: x", "5: must have names that are text"),
]
_JARGON = re.compile(
    r"Input should|valid (?:tuple|dictionary|string)|instance of|pydantic|NoneType"
)


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_each_error_names_the_option_and_what_is_allowed(tmp_path, text, said):
    """In the words of the file: no types of a programming language."""
    text = f"conventions: {{custom: [{text}]}}" if text.startswith("{") else text
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text), {}, {})
    assert f"option {said}" in str(caught.value)
    assert not _JARGON.search(str(caught.value))


@pytest.mark.parametrize("text", ["exporters: {b: [secret]}", "exporters: {b: {kind: [secret]}}"])
def test_values_of_a_destination_are_not_shown(tmp_path, text):
    """They may be secret."""
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path, text), {}, {})
    assert "secret" not in str(caught.value)


def test_broken_yaml_names_the_place(tmp_path):
    """Line and column, as editors count."""
    with pytest.raises(ConfigError, match=r"not valid YAML, line 2, column \d+: "):
        load_config(write(tmp_path, "log_level: info\na: b: c\n"), {}, {})


def test_a_section_that_is_misspelt_names_the_section(tmp_path):
    """And not an option within it."""
    with pytest.raises(ConfigError, match=r"unknown option receeive: did you mean receive\?"):
        load_config(write(tmp_path, "receeive: {}"), {}, {})


def test_a_secret_is_what_a_variable_holds() -> None:
    """An empty one is none; the process's own variables are read when no others are given."""
    assert read_secret("KEY", {"KEY": "k"}) == "k"
    assert read_secret("KEY", {"KEY": ""}) is None
    assert read_secret("OTEL_RAGLOG_NO_SUCH_VARIABLE") is None


def test_the_key_of_the_llm_is_ours_alone_unless_another_is_named() -> None:
    """A key that is there for the application sends nothing anywhere."""
    theirs = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}
    assert read_judge_key(Judge(), theirs) is None
    assert read_judge_key(Judge(), theirs | {"OTEL_RAGLOG_JUDGE_KEY": "c"}) == "c"
    assert read_judge_key(Judge(key_from="ANTHROPIC_API_KEY"), theirs) == "a"
    with pytest.raises(ConfigError, match=r"judge\.key_from: the variable MINE is not set"):
        read_judge_key(Judge(key_from="MINE"), {"MINE": ""})


def test_a_key_may_be_in_a_file(tmp_path) -> None:
    """As orchestrators mount secrets; a file that holds none is an error that names it."""
    file = tmp_path / "key"
    file.write_text("secret\n")
    assert read_judge_key(Judge(key_file=file), {}) == "secret"
    file.write_text("\n")
    with pytest.raises(ConfigError, match=r"judge\.key_file: .* is empty"):
        read_judge_key(Judge(key_file=file), {})
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_judge_key(Judge(key_file=file), {})
    with pytest.raises(ConfigError, match="cannot read"):
        read_judge_key(Judge(key_file=tmp_path / "none"), {})


def test_the_key_is_no_option(tmp_path) -> None:
    """It is in no configuration that is shown."""
    variables = {"OTEL_RAGLOG_JUDGE_KEY": "sk-secret", "HOME": str(tmp_path)}
    config = load_config(environ=variables)
    assert "sk-secret" not in show_config(config)


def test_what_the_llm_cost_is_kept_beside_the_journal(tmp_path) -> None:
    """Unless another file is named, or nothing is kept on disk."""

    def path(**options):
        return load_config(None, options, {"HOME": str(tmp_path)}).judge.budget.path

    assert path(journal={"path": "/j"}) == Path("/j/judge-spent.json")
    assert path(judge={"budget": {"path": "/b.json"}}) == Path("/b.json")
    assert path(journal={"enabled": False}) is None


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ({"redact": ["("]}, "is no regular expression of RE2"),
        ({"bands": {"generator": [0.6, 0.4]}}, "the lower end is above the upper one"),
        ({"bands": {"generator": [0.6, 1.4]}}, r"judge\.bands\.generator"),
        ({"when": "sometimes"}, r"judge\.when"),
        ({"sample": 2}, r"judge\.sample"),
    ],
)
def test_wrong_options_of_the_llm_are_named(judge, said) -> None:
    """Before anything is asked."""
    with pytest.raises(ConfigError, match=said):
        load_config(None, {"judge": judge}, {})


@pytest.mark.parametrize(
    "endpoint",
    ["http://user:s3cret@127.0.0.1/v1", "http://127.0.0.1/v1?key=s3cret", "http://[::s3cret"],
)
def test_an_address_of_the_llm_that_holds_a_secret_is_refused_unseen(endpoint) -> None:
    """Else it would be in every configuration that is shown, and in logs."""
    with pytest.raises(ConfigError, match=r"judge\.endpoint") as caught:
        load_config(None, {"judge": {"endpoint": endpoint}}, {})
    assert "s3cret" not in str(caught.value)


def test_the_environment_may_name_the_folder_of_mappings() -> None:
    """For the commands that read captured calls; the service has no such option."""
    variables = {"OTEL_RAGLOG_BRIDGE__MAPPINGS": "/m"}
    assert read_mappings_folder(variables) == Path("/m")
    assert read_mappings_folder({}) is None
    assert load_config(None, None, variables) == load_config(None, None, {})


def test_the_secrets_of_exporters_are_not_shown(tmp_path):
    """By the names of their options; a webhook's path is one itself."""
    text = """
exporters:
  a: {kind: phoenix, api_key: k-1, api_key_file: null}
  b: {kind: langfuse, public_key: pk-1, secret_key: sk-1}
  c: {kind: webhook, endpoint: "https://hooks.example/T1/x-1", secret: s-1}
  d: {kind: mlflow, token: t-1}
"""
    shown = show_config(load_config(write(tmp_path, text), {}, {}))
    for secret in ("k-1\n", "sk-1", "x-1", "s-1", "t-1"):
        assert secret not in shown.replace("pk-1", "")
    assert "pk-1" in shown
    assert "https://hooks.example/***" in shown


def test_the_key_of_hashes_comes_from_the_environment_or_a_file(tmp_path):
    """It is never an option, never shown, and needed only where something is hashed."""
    key = "0123456789abcdef"
    hashes = Redaction(hash_keys=["user.id"])
    assert read_redaction_key(Redaction(mask_keys=["a"]), {}) == b""
    assert read_redaction_key(hashes, {"OTEL_RAGLOG_REDACTION_KEY": key}) == key.encode()
    named = hashes.model_copy(update={"key_from": "MINE"})
    assert read_redaction_key(named, {"MINE": key}) == key.encode()
    with pytest.raises(ConfigError, match=r"redaction\.key_from: the variable MINE is not set"):
        read_redaction_key(named, {})
    file = tmp_path / "key"
    file.write_text(f"{key}\n")
    filed = hashes.model_copy(update={"key_file": file})
    assert read_redaction_key(filed, {}) == key.encode()
    file.write_text("short")
    with pytest.raises(ConfigError, match=r"redaction\.key_file: .* 16 bytes") as caught:
        read_redaction_key(filed, {})
    assert "short" not in str(caught.value)
    with pytest.raises(ConfigError, match="hashes need a key"):
        read_redaction_key(hashes, {})


def test_redaction_is_set_by_file_and_environment(tmp_path):
    """Nothing is redacted by default; the key's variable is no unknown option."""
    assert not load_config(None, {}, {"OTEL_RAGLOG_REDACTION_KEY": "k" * 16}).redaction.enabled
    config = load_config(None, {}, {"OTEL_RAGLOG_REDACTION__PATTERNS": "[email, card]"})
    assert config.redaction.patterns == ("email", "card")
    text = "redaction: {hash_document_ids: true, mask_keys: [user.name], key_file: /run/key}"
    config = load_config(write(tmp_path, text), {}, {"OTEL_RAGLOG_REDACTION_KEY": "k" * 16})
    assert config.redaction.enabled
    assert config.redaction.hashes
    assert "kkkk" not in show_config(config)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("redaction: {patterns: [mail]}", "option redaction.patterns.0: .*email"),
        ("redaction: {mask_key: [a]}", "did you mean redaction.mask_keys"),
        ("redaction: {mask_keys: ['']}", "option redaction.mask_keys.0"),
        ("redaction: {expressions: ['(?=a)']}", "option redaction.expressions: .*RE2"),
        ("redaction: {pattern_action: drop}", "option redaction.pattern_action"),
    ],
)
def test_wrong_options_of_redaction_are_named(tmp_path, text, named):
    """With what is known there."""
    with pytest.raises(ConfigError, match=named):
        load_config(write(tmp_path, text), {}, {})


def test_tokens_come_from_a_file_or_a_named_variable(tmp_path) -> None:
    """Each line of the file is one; without either option there is none, and any may come."""
    file = tmp_path / "tokens"
    file.write_text("\n one \n\ntwo\n")
    assert read_tokens(Auth(), {"TOKEN": "t"}) == ()
    assert read_tokens(Auth(token_file=file), {}) == ("one", "two")
    assert read_tokens(Auth(token_from="TOKEN"), {"TOKEN": " t\n"}) == ("t",)


def test_a_token_that_is_not_there_is_an_error_that_names_the_option(tmp_path) -> None:
    """A door that nobody guards because a file is empty would be open in silence."""
    empty = tmp_path / "tokens"
    empty.write_text(" \n")
    with pytest.raises(ConfigError, match=r"receive\.auth\.token_file: .* is empty"):
        read_tokens(Auth(token_file=empty), {})
    with pytest.raises(ConfigError, match=r"receive\.auth\.token_file: cannot read"):
        read_tokens(Auth(token_file=tmp_path / "none"), {})
    for environ in ({}, {"TOKEN": ""}, {"TOKEN": " "}):
        with pytest.raises(ConfigError, match=r"token_from: the variable TOKEN is not set"):
            read_tokens(Auth(token_from="TOKEN"), environ)
    with pytest.raises(ConfigError, match="exclude each other"):
        read_tokens(Auth(token_file=empty, token_from="TOKEN"), {"TOKEN": "t"})


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "pod.example", "localhost.example"])
def test_the_json_api_is_never_open_to_the_network_without_a_token(host) -> None:
    """It shows what people asked; the error names the ways out, and each is one."""
    with pytest.raises(ConfigError, match=r"api\.host: .*receive\.auth\.token_file.*api\.enabled"):
        load_config(overrides={"api": {"host": host}}, environ={})
    guarded = {"api": {"host": host}, "receive": {"auth": {"token_from": "TOKEN"}}}
    assert load_config(overrides=guarded, environ={}).api.host == host
    off = {"api": {"host": host, "enabled": False}}
    assert load_config(overrides=off, environ={}).api.enabled is False


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "LocalHost"]
)
def test_loopback_is_this_machine_alone(host) -> None:
    """By any of its names."""
    assert is_loopback(host)
    assert load_config(overrides={"api": {"host": host}}, environ={}).api.host == host
