"""Who may read the metrics."""

import pytest

from library.metrics_access import Refusal, refusal


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_may_read_where_no_token_is_set(address: str) -> None:
    assert refusal({"REMOTE_ADDR": address}, "") is None


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1", "2001:db8::1", "", "localhost", "0.0.0.0"])  # noqa: S104
def test_others_may_not(address: str) -> None:
    assert refusal({"REMOTE_ADDR": address}, "") is Refusal.FORBIDDEN


@pytest.mark.parametrize("header", ["X_FORWARDED_FOR", "FORWARDED", "X_REAL_IP", "X_FORWARDED_HOST", "VIA"])
def test_a_proxy_on_this_machine_does_not_make_its_callers_local(header: str) -> None:
    meta = {"REMOTE_ADDR": "127.0.0.1", f"HTTP_{header}": "127.0.0.1"}
    assert refusal(meta, "") is Refusal.FORBIDDEN


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Bearer s3cret", None),
        ("bearer s3cret", None),
        ("Bearer s3cre", Refusal.UNAUTHORISED),
        ("Bearer ", Refusal.UNAUTHORISED),
        ("Basic s3cret", Refusal.UNAUTHORISED),
        ("s3cret", Refusal.UNAUTHORISED),
        ("Bearer ümlaut", Refusal.UNAUTHORISED),
        (None, Refusal.UNAUTHORISED),
    ],
)
def test_where_a_token_is_set_it_is_asked_of_everyone(given: str | None, expected: Refusal | None) -> None:
    meta = {"REMOTE_ADDR": "127.0.0.1"} | ({} if given is None else {"HTTP_AUTHORIZATION": given})
    assert refusal(meta, "s3cret") is expected


def test_with_the_token_a_distant_caller_behind_a_proxy_may_read() -> None:
    meta = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "1.2.3.4", "HTTP_AUTHORIZATION": "Bearer t"}
    assert refusal(meta, "t") is None
