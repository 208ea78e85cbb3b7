"""HAR archives of browsers and of mitmproxy are read; what is no HTTP call is counted."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files import har
from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture


def entry(**changes):
    """Return an entry as Chrome writes it."""
    return {
        "_resourceType": "fetch",
        "_initiator": {"type": "script"},
        "connection": "8123",
        "startedDateTime": "2026-11-29T21:09:41.250+01:00",
        "time": 12.5,
        "request": {
            "method": "POST",
            "url": "https://api.example.com/v1/rerank",
            "httpVersion": "h3",
            "headers": [
                {"name": ":authority", "value": "api.example.com"},
                {"name": "content-type", "value": "application/json"},
            ],
            "queryString": [],
            "postData": {"mimeType": "application/json", "text": '{"query":"ü"}'},
        },
        "response": {
            "status": 200,
            "statusText": "",
            "headers": [
                {"name": "content-encoding", "value": "br"},
                {"name": "content-type", "value": "application/json"},
            ],
            "content": {"size": 14, "mimeType": "application/json", "text": '{"results":[]}'},
        },
        **changes,
    }


def archive(*entries):
    """Return an archive of ``entries``."""
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def read(*entries):
    """Return what is read of an archive of ``entries``."""
    return list(har.read(archive(*entries)))


def with_content(**content):
    """Return the answer's body and headers for ``content``."""
    headers = [{"name": "content-encoding", "value": "gzip"}]
    (found,) = read(entry(response={"status": 200, "headers": headers, "content": content}))
    return found.response_body, dict(found.response_headers)


def test_an_entry_is_read():
    """Request, answer, times with zone and duration, and connection are those of the entry."""
    (found,) = read(entry())
    assert (found.id, found.method, found.status) == ("1", "POST", 200)
    assert found.url == "https://api.example.com/v1/rerank"
    assert found.request_body == '{"query":"ü"}'.encode()
    assert found.response_body == b'{"results":[]}'
    assert found.started_ns == 1795982981_250000000
    assert found.ended_ns == 1795982981_262500000
    assert (found.client, found.error) == ("8123", "")
    assert ("content-type", "application/json") in found.request_headers


def test_the_content_is_not_encoded_any_more():
    """The format undoes content encodings, so the header that tells one is dropped."""
    assert with_content(text="plain", mimeType="text/plain") == (
        b"plain",
        {"content-type": "text/plain"},
    )
    encoded = base64.b64encode(b"\x00\xff").decode()
    assert with_content(text=encoded, encoding="base64") == (b"\x00\xff", {})


def test_base64_of_compressed_bytes_keeps_the_encoding():
    """Some tools keep the bytes of the wire, which then still have to be inflated."""
    wire = gzip.compress(b"{}")
    body, headers = with_content(text=base64.b64encode(wire).decode(), encoding="base64")
    assert (body, headers) == (wire, {"content-encoding": "gzip"})


def test_parameters_of_a_form_are_written_out():
    """A form is kept as text or as parameters."""
    params = [{"name": "q", "value": "a b"}, {"name": "k", "value": "3"}]
    request = {"method": "POST", "url": "http://a.example/", "postData": {"params": params}}
    (found,) = read(entry(request=request))
    assert found.request_body == b"q=a+b&k=3"
    assert found.request_headers == (("content-type", "application/x-www-form-urlencoded"),)


def test_headers_as_pairs_are_read():
    """Some applications write a header as a list of name and value."""
    request = {"method": "get", "url": "http://a.example/", "headers": [["x-a", "1"]]}
    (found,) = read(entry(request=request))
    assert (found.method, found.request_headers, found.request_body) == (
        "GET",
        (("x-a", "1"),),
        b"",
    )


def test_a_status_of_zero_is_no_answer():
    """Browsers write 0 for what was blocked or broke, and say why in a field of their own."""
    (found,) = read(entry(response={"status": 0, "_error": "net::ERR_CONNECTION_REFUSED"}))
    assert (found.status, found.error) == (None, "net::ERR_CONNECTION_REFUSED")


def test_entries_of_other_schemes_are_counted():
    """A browser's archive is full of them: one sentence, not one for each."""
    others = [
        entry(request={"method": "GET", "url": url})
        for url in ("data:text/css,a", "blob:http://x/1", "wss://a.example/")
    ]
    call, sentence = read(*others, entry())
    assert call.id == "4"
    assert sentence == "3 entries left out: they hold no HTTP call"


def test_a_damaged_entry_costs_itself_alone():
    """It is named by its number; a time that is none is told and the call kept."""
    found = read(
        entry(request=None), 5, entry(startedDateTime="soon"), entry(request={"method": "GET"})
    )
    assert found[0] == "entry 1 is damaged: it has no request"
    assert found[1] == "entry 2 is damaged: it has no request"
    assert found[2] == "entry 3: startedDateTime is no time"
    assert (found[3].id, found[3].started_ns, found[3].ended_ns) == ("3", 0, 0)
    assert found[4] == "entry 4 is damaged: it has no URL"


@pytest.mark.parametrize("content", [b'{"log": {"entries": [', b'{"log": {}}', b"[]", b"\xff"])
def test_a_file_that_is_none_is_an_error(content):
    """Without a list of entries there is nothing to read."""
    with pytest.raises(BadCapture):
        list(har.read(content))


def test_archives_are_told_by_their_beginning():
    """By the first key, or by the name where it is JSON."""
    assert har.matches("", archive())
    assert har.matches("", b'\n{ "log" : {"version"')
    assert har.matches(".har", b'{"$schema": "x"')
    assert not har.matches(".har", b"12:5:abcde,,]")
    assert not har.matches(".json", b'{"resourceSpans": []}')


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "encoding", "params", "name", "value"]), inner)
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(entry())), ODD), ODD, ODD)
def test_odd_values_never_raise(changes, posted, content):
    """An entry of any values is a call or a sentence."""
    request = {"method": "POST", "url": "http://a.example/", "postData": posted, "headers": content}
    response = {"status": 200, "content": content, "headers": posted}
    assert read(entry(request=request, response=response), entry(**changes))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what its add-ons import
def test_what_mitmproxy_dumps_is_read():
    """A HAR that mitmproxy makes of a flow gives the flow's call."""
    pytest.importorskip("mitmproxy")
    from mitmproxy.addons.savehar import SaveHar
    from mitmproxy.test import tflow, tutils

    response = tutils.tresp(content=gzip.compress(b'{"a":1}'))
    response.headers["content-encoding"] = "gzip"
    flow = tflow.tflow(req=tutils.treq(content=b'{"q":1}', method=b"POST"), resp=response)
    (found,) = har.read(json.dumps(SaveHar().make_har([flow])).encode())
    assert found.url == flow.request.pretty_url
    assert (found.request_body, found.response_body) == (b'{"q":1}', b'{"a":1}')
    assert found.status == 200


def test_an_archive_that_was_cut_short_is_read_up_to_the_cut():
    """The number of the entry that is lost is said, and nothing else of it."""
    whole = archive(entry(), entry(), entry())
    first, second, lost = har.read(whole[: whole.rindex(b'"results') + 3])
    assert (first.id, second.id, second.response_body) == ("1", "2", b'{"results":[]}')
    assert lost == "entry 3 is damaged: no JSON, or cut short; nothing after it can be read"
    *calls, told = har.read(whole.removesuffix(b"}}"))
    assert len(calls) == 3
    assert told == "after entry 3: no JSON, or cut short"
