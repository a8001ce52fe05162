"""What an address may look like, and that no secret can hide in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.config import checked
from playground.engines._remote.options import RemoteOptions, clean_url, is_link_local, is_loopback, origin
from playground.errors import PlaygroundError


@pytest.mark.parametrize(
    ("typed", "clean"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" http://host:8000/v1/ ", "http://host:8000"),
        ("https://gate.example/llm/v1/chat/completions", "https://gate.example/llm"),
        ("http://[::1]:30000/v1", "http://[::1]:30000"),
        ("HTTP://Host:80", "http://host:80"),
        ("https://gate.example/", "https://gate.example"),
    ],
)
def test_an_address_is_called_and_shown_in_one_form(typed, clean):
    assert clean_url(typed) == clean
    assert clean_url(clean) == clean


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "localhost:8000",
        "ftp://host/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http://host:99999",
        "http://host:x",
        "http://user:secret@host:8000",
        "http://secret@host",
        "https://host/v1?api_key=secret",
        "https://host/v1#secret",
        "http://ho st:8000",
        "http://host\\@evil:80",
        "http://host/\r\nX: y",
        "http://host/../../metadata",
        "http://[::1",
        "http://" + "a" * 3000,
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(typed):
    with pytest.raises(PlaygroundError) as caught:
        checked(RemoteOptions, {"url": typed}, where="the options")
    assert caught.value.code == "bad_config"
    assert "secret" not in caught.value.message


def test_no_server_for_the_baseline_is_an_empty_field():
    assert RemoteOptions(baseline_url="  ").baseline_url == ""
    with pytest.raises(PlaygroundError):
        checked(RemoteOptions, {"baseline_url": "nonsense"})


@given(st.text(max_size=60))
def test_anything_typed_is_taken_or_refused(text):
    try:
        url = clean_url(text)
    except ValueError:
        return
    assert url.startswith(("http://", "https://"))
    assert "@" not in url.split("/")[2]
    assert clean_url(url) == url
    assert origin(url)[1]
    assert is_loopback(url) in (True, False)
    assert is_link_local(url) in (True, False)
