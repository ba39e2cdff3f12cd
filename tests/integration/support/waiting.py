"""Waiting on conditions. Tests never sleep to hide a race: they say what must become true, and by when."""

import time

# For what must come. It is waited for no longer than it takes, so this costs nothing: it is for a machine that is busy with
# something else, and ends what hangs.
PATIENCE = 60.0


def eventually(condition, within=PATIENCE, every=0.01, what=None):
    """Polls until `condition()` is truthy and returns its value; fails when the deadline has passed."""
    deadline = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {within}s: {what or condition}")
        time.sleep(every)


def holds_for(condition, seconds, every=0.02, what=None):
    """Fails as soon as `condition()` is not truthy during the given time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), f"stopped being true: {what or condition}"
        time.sleep(every)
