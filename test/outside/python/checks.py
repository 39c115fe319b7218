"""Runs checks one after the other and prints a line for each: `ok: …` or `failed: …: <reason>`."""

import inspect
import traceback
from pathlib import Path

_checks = []


def check(name, only=None):
    """Registers a check, for every setting or for `only` the one of this name."""

    def register(function):
        _checks.append((name, only, function))
        return function

    return register


async def run(settings):
    """Runs every check in every setting. Returns the process's exit code."""
    failed = False
    for setting in settings:
        for name, only, function in _checks:
            if only not in (None, setting.name):
                continue
            try:
                await function(setting)
                print(f"ok: {setting.name}: {name}", flush=True)
            except Exception as error:  # whatever it is, the other checks still say something
                failed = True
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                line = f"{Path(_own_line(error).filename).name}:{_own_line(error).lineno}"
                print(f"failed: {setting.name}: {name}: {reason} ({line})", flush=True)
    return 1 if failed else 0


def _own_line(error):
    """The innermost line of this folder that an error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame for frame in frames if Path(frame.filename).parent == Path(__file__).parent][-1]


async def settled(value):
    """The result of a call: the async client's is awaited, the blocking client's is there already."""
    return await value if inspect.isawaitable(value) else value


async def each(stream):
    """The items of a stream of either client."""
    if hasattr(stream, "__aiter__"):
        async for item in stream:
            yield item
    else:
        for item in stream:
            yield item


async def raised(kind, call):
    """The error that a call raises, which must be of this very class. `call` starts the call."""
    try:
        await settled(call())
    except Exception as error:
        assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
        return error
    raise AssertionError(f"no {kind.__name__} was raised")
