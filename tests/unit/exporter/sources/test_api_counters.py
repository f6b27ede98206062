"""Account API counters across servers that leave, return and restart."""

from exporter.model import Account
from exporter.sources.api_counters import ApiCounters


def reported(counters: ApiCounters, requests: int, errors: int, *servers: str) -> tuple[int, int]:
    account = Account("APP", api_requests=requests, api_errors=errors)
    (risen,) = counters.risen((account,), frozenset(servers))
    assert risen.api_requests is not None
    assert risen.api_errors is not None
    return risen.api_requests, risen.api_errors


def test_what_a_server_took_with_it_is_not_taken_back() -> None:
    counters = ApiCounters()
    assert reported(counters, 17, 3, "a", "b") == (17, 3)
    assert reported(counters, 13, 2, "b") == (17, 3)
    assert reported(counters, 20, 2, "b", "c") == (20, 3)


def test_counters_restart_when_all_servers_restarted() -> None:
    counters = ApiCounters()
    assert reported(counters, 17, 3, "a") == (17, 3)
    assert reported(counters, 1, 0, "a2") == (1, 0)


def test_a_poll_without_responses_proves_no_restart() -> None:
    counters = ApiCounters()
    assert reported(counters, 17, 3, "a") == (17, 3)
    assert reported(counters, 16, 3) == (17, 3)
    assert reported(counters, 18, 3, "a") == (18, 3)


def test_an_account_whose_counters_are_unknown_stays_without() -> None:
    (account,) = ApiCounters().risen((Account("APP"),), frozenset({"a"}))
    assert account.api_requests is None
