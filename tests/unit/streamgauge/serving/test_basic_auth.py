"""Password checks: who is allowed, what a check costs, and that it does not block the loop."""

from __future__ import annotations

import asyncio
import base64

import bcrypt
import pytest
from support.web_config_files import HASH

from streamgauge.serving.settings.secret import Secret
from streamgauge.serving.web.basic_auth import PasswordCheck, TooManyChecksError, credentials

OTHER_HASH = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic("alice:hunter2"), ("alice", "hunter2")),
        (basic("alice:a:b"), ("alice", "a:b")),
        (basic("grün:schlüssel"), ("grün", "schlüssel")),
        (basic(":"), ("", "")),
        (basic("alice:x").replace("Basic", "bAsIc"), ("alice", "x")),
        (basic("no colon"), None),
        ("Basic", None),
        ("Basic !!!", None),
        ("Basic /w==", None),
        ("Bearer abc", None),
        ("", None),
        (None, None),
    ],
)
def test_credentials_are_read_from_the_header(
    header: str | None, expected: tuple[str, str] | None
) -> None:
    assert credentials(header) == expected


USERS = {"alice": Secret(HASH), "bob": Secret(OTHER_HASH)}


async def test_a_right_password_is_checked_by_bcrypt_only_once() -> None:
    check = PasswordCheck()

    results = [await check.allows(USERS, "alice", "hunter2") for _ in range(3)]

    assert results == [True, True, True]
    assert check.bcrypt_runs == 1


@pytest.mark.parametrize(
    ("user", "password"),
    [("alice", "wrong"), ("alice", "swordfish"), ("mallory", "hunter2"), ("alice", ""), ("", "")],
)
async def test_a_wrong_login_is_refused_at_the_price_of_bcrypt(user: str, password: str) -> None:
    check = PasswordCheck()
    await check.allows(USERS, "alice", "hunter2")

    results = [await check.allows(USERS, user, password) for _ in range(2)]

    assert results == [False, False]
    assert check.bcrypt_runs == 3


async def test_an_unknown_user_costs_what_the_dearest_known_one_costs() -> None:
    check = PasswordCheck()
    dear = Secret(bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode())

    await check.allows({"alice": Secret(HASH), "dear": dear}, "mallory", "x")

    assert check._unknown_user_hash.startswith(b"$2b$05$")


async def test_requests_at_the_same_moment_share_one_bcrypt_run() -> None:
    check = PasswordCheck()
    await check.allows(USERS, "bob", "wrong")

    logins = [check.allows(USERS, "alice", "hunter2") for _ in range(20)]
    results = await asyncio.gather(*logins)

    assert results == [True] * 20
    # One that was wrong, and as many of the twenty as may run at once.
    assert check.bcrypt_runs <= 3


async def test_the_event_loop_turns_while_bcrypt_runs() -> None:
    users = {"alice": Secret(bcrypt.hashpw(b"x", bcrypt.gensalt(8)).decode())}
    login = asyncio.create_task(PasswordCheck().allows(users, "alice", "x"))

    turns = 0
    while not login.done():
        await asyncio.sleep(0)
        turns += 1

    assert login.result() is True
    assert turns > 20  # two or three if the loop itself had run it


async def test_a_changed_file_forgets_who_was_let_in() -> None:
    check = PasswordCheck()
    assert await check.allows(USERS, "alice", "hunter2")

    changed = {"alice": Secret(OTHER_HASH)}

    assert not await check.allows(changed, "alice", "hunter2")
    assert await check.allows(changed, "alice", "swordfish")
    assert not await check.allows(changed, "bob", "swordfish")


async def test_a_password_that_bcrypt_would_cut_is_refused() -> None:
    long = "x" * 72
    users = {"alice": Secret(bcrypt.hashpw(long.encode(), bcrypt.gensalt(4)).decode())}
    check = PasswordCheck()

    assert await check.allows(users, "alice", long)
    assert not await check.allows(users, "alice", long + "y")
    assert check.bcrypt_runs == 2


async def guess(check: PasswordCheck, number: int, address: str) -> str:
    try:
        allowed = await check.allows(USERS, "alice", f"guess {number}", address)
    except TooManyChecksError:
        return "too many"
    return "allowed" if allowed else "refused"


async def test_guesses_of_one_address_wait_in_a_bounded_queue() -> None:
    check = PasswordCheck()

    results = await asyncio.gather(*(guess(check, number, "10.0.0.1") for number in range(300)))

    assert (results.count("refused"), results.count("too many")) == (8, 292)
    assert await guess(check, 300, "10.0.0.1") == "refused"


async def test_guesses_of_many_addresses_wait_in_a_bounded_queue() -> None:
    check = PasswordCheck()

    results = await asyncio.gather(*(guess(check, n, f"10.0.{n}.1") for n in range(300)))

    assert (results.count("refused"), results.count("too many")) == (64, 236)
    assert not check._waiting


async def test_a_client_that_was_verified_passes_while_others_guess() -> None:
    check = PasswordCheck()
    assert await check.allows(USERS, "alice", "hunter2")
    runs = check.bcrypt_runs
    guesses = [asyncio.create_task(guess(check, number, "10.0.0.1")) for number in range(300)]
    await asyncio.sleep(0)  # they start, and take the queue

    touched = {"alice": Secret(HASH), "bob": Secret(OTHER_HASH)}  # read again, unchanged
    assert await check.allows(touched, "alice", "hunter2", "10.0.0.1")

    assert check.bcrypt_runs <= runs + 2  # it did not wait for them, nor run again
    await asyncio.gather(*guesses)
