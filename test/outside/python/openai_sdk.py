"""The official Python SDK against a running gateway: its list of checks, once for each of its two clients."""

import asyncio
import json
import os
import time
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

import openai
from pydantic import BaseModel

from checks import check, each, raised, run, settled

MODEL = "gpt-4.1-mini"
# A tenth of a second is promised; machines differ.
PROMPTLY_MS = 1_000

state = Path(os.environ["GATEHOUSE_STATE"])
credentials = json.loads((state / "credentials.json").read_text())
processes = json.loads((state / "processes.json").read_text())


@dataclass
class Setting:
    name: str
    kind: type

    def client(self, key=None, **options):
        return self.kind(
            base_url=f"{credentials['url']}/v1",
            api_key=key or credentials["user_key"],
            **{"max_retries": 0, "timeout": 20, **options},
        )


def simulate(**instructions):
    """What the provider simulator shall do, as fields that the SDK passes on."""
    return {"x_simulator": instructions}


def say(text="hello", model=MODEL, **fields):
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


def provider_requests(request_id):
    """What the simulator knows of the requests with this id of its own."""
    (port,) = [entry["ports"]["http"] for entry in processes if entry["name"].startswith("simulator")]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/control/requests") as answer:
        return [entry for entry in json.load(answer)["requests"] if entry["id"] == request_id]


async def provider_request(request_id, closed=False):
    """The first request with this id, once it is there or its client's connection has closed."""
    deadline = time.time() + 5
    while True:
        requests = provider_requests(request_id)
        if requests and not (closed and requests[0]["client_closed_at"] is None):
            return requests[0]
        if time.time() > deadline:
            raise AssertionError("the provider still holds its connection" if requests else "no provider was called")
        await asyncio.sleep(0.02)


async def assert_provider_left(request_id, left_at):
    """The provider sees its connection close promptly after the client has left (seconds since the epoch)."""
    request = await provider_request(request_id, closed=True)
    took_ms = request["client_closed_at"] - left_at * 1_000
    assert took_ms < PROMPTLY_MS, f"after {took_ms} ms"


@check("models are listed, agents among them, and retrieved")
async def models(setting):
    client = setting.client()
    ids = [model.id async for model in each(await settled(client.models.list()))]
    agent = f"agent:{credentials['agent_key']}"
    assert MODEL in ids and agent in ids, ids
    for name in (MODEL, agent):
        assert (await settled(client.models.retrieve(name))).id == name


@check("a unary answer has its text, usage and request id")
async def unary(setting):
    body = simulate(content="Good day to you.", usage={"prompt_tokens": 9, "cached_tokens": 4})
    answer = await settled(setting.client().chat.completions.create(**say(), extra_body=body))
    assert answer.choices[0].message.content == "Good day to you."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == 13
    assert answer.usage.prompt_tokens_details.cached_tokens == 4
    assert answer._request_id


@check("two choices have their log probabilities")
async def choices(setting):
    call = setting.client().chat.completions.create(**say(n=2, logprobs=True, top_logprobs=2))
    answer = await settled(call)
    assert [choice.index for choice in answer.choices] == [0, 1]
    for choice in answer.choices:
        tokens = choice.logprobs.content
        assert "".join(token.token for token in tokens) == choice.message.content
        assert len(tokens[0].top_logprobs) == 2


@check("a stream comes in pieces, with one usage chunk at its end when asked")
async def stream(setting):
    stream = await settled(
        setting.client().chat.completions.create(
            **say(stream=True, stream_options={"include_usage": True}),
            extra_body=simulate(content="một hai ba", split_utf8=True),
        )
    )
    chunks = [chunk async for chunk in each(stream)]
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert [piece for piece in pieces if piece] == ["một ", "hai ", "ba"], pieces
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert [chunk.usage is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 3


@check("a stream has no usage chunk when not asked")
async def stream_without_usage(setting):
    stream = await settled(setting.client().chat.completions.create(**say(stream=True)))
    chunks = [chunk async for chunk in each(stream)]
    assert all(len(chunk.choices) == 1 and chunk.usage is None for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


@check("streamed tool calls keep index, id and order")
async def tool_calls(setting):
    calls = [
        {"name": "get_weather", "arguments": {"city": "Hà Nội"}},
        {"name": "get_time", "arguments": {"city": "Zürich", "note": '"quoted" {brace}'}},
    ]
    tools = [{"type": "function", "function": {"name": call["name"]}} for call in calls]
    stream = await settled(
        setting.client().chat.completions.create(
            **say(stream=True, tools=tools), extra_body=simulate(tool_calls=calls, split_utf8=True)
        )
    )
    chunks = [chunk async for chunk in each(stream)]
    deltas = [delta for chunk in chunks for delta in chunk.choices[0].delta.tool_calls or []]
    firsts = [delta for delta in deltas if delta.id]
    assert [(delta.index, delta.function.name) for delta in firsts] == [(0, "get_weather"), (1, "get_time")]
    assert len({delta.id for delta in firsts}) == 2
    for index, call in enumerate(calls):
        text = "".join(delta.function.arguments or "" for delta in deltas if delta.index == index)
        assert json.loads(text) == call["arguments"]
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@check("the streaming helper puts an answer together")
async def stream_helper(setting):
    manager = setting.client().chat.completions.stream(**say())
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            answer = await stream.get_final_completion()
    else:
        with manager as stream:
            answer = stream.get_final_completion()
    assert "You said: hello" in answer.choices[0].message.content


@check("an answer follows a JSON schema, also through the parsing helper")
async def json_schema(setting):
    class Weather(BaseModel):
        city: str
        warm: bool
        degrees: list[float]

    completions = setting.client().chat.completions
    answer = await settled(completions.parse(**say(response_format=Weather)))
    assert isinstance(answer.choices[0].message.parsed, Weather)
    schema = {"name": "weather", "schema": Weather.model_json_schema()}
    plain = {"type": "json_schema", "json_schema": schema}
    answer = await settled(completions.create(**say(response_format=plain)))
    Weather.model_validate_json(answer.choices[0].message.content)


@check("an agent answers")
async def agent(setting):
    name = f"agent:{credentials['agent_key']}"
    answer = await settled(setting.client().chat.completions.create(**say(model=name)))
    assert "You said: hello" in answer.choices[0].message.content


@check("embeddings are the same in base64, the SDK's default, and as numbers")
async def embeddings(setting):
    create = setting.client().embeddings.create
    texts = ["a house at the gate", "something else"]
    packed = await settled(create(model="text-embedding-3-small", input=texts))
    plain = await settled(create(model="text-embedding-3-small", input=texts, encoding_format="float"))
    for ours, theirs in zip(packed.data, plain.data, strict=True):
        assert len(ours.embedding) == 8
        assert all(abs(a - b) < 1e-6 for a, b in zip(ours.embedding, theirs.embedding, strict=True))


@check("closing a stream early closes the provider's connection")
async def abort_stream(setting):
    name = str(uuid.uuid4())
    stream = await settled(
        setting.client().chat.completions.create(
            **say(stream=True), extra_body=simulate(id=name, chunks=400, chunk_delay_ms=25)
        )
    )
    async for _chunk in each(stream):
        break
    left_at = time.time()
    await settled(stream.close())
    await assert_provider_left(name, left_at)


@check("a unary call that runs out of time closes the provider's connection")
async def abort_unary(setting):
    name = str(uuid.uuid4())
    # Long enough for a busy machine to get as far as the provider.
    client = setting.client(timeout=1.5)
    body = simulate(id=name, silent="before_headers")
    await raised(openai.APITimeoutError, lambda: client.chat.completions.create(**say(), extra_body=body))
    await assert_provider_left(name, time.time())


@check("a cancelled unary call closes the provider's connection", only="async")
async def cancel_unary(setting):
    name = str(uuid.uuid4())
    body = simulate(id=name, silent="before_headers")
    call = asyncio.create_task(setting.client().chat.completions.create(**say(), extra_body=body))
    await provider_request(name)
    left_at = time.time()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await assert_provider_left(name, left_at)


def assert_error(error, status, type_, code, param=None, of_provider=False):
    """Our words or the provider's, in the fields where the SDK looks for them."""
    assert error.status_code == status, error.status_code
    assert (error.type, error.code, error.param) == (type_, code, param), error.body
    assert error.body["message"] and error.body["message"] in str(error), error.body
    assert error.request_id
    assert error.body.get("request_id") == (None if of_provider else error.request_id), error.body


@check("401: a key that nobody knows")
async def unauthenticated(setting):
    client = setting.client(key="gwk_nobody_knows")
    error = await raised(openai.AuthenticationError, lambda: client.chat.completions.create(**say()))
    assert_error(error, 401, "authentication_error", "invalid_api_key")


@check("403: a scope that the key lacks")
async def forbidden(setting):
    body = {"key": "mine", "name": "Mine", "model": MODEL}
    client = setting.client()
    error = await raised(
        openai.PermissionDeniedError, lambda: client.post("/agents", cast_to=object, body=body)
    )
    assert_error(error, 403, "permission_error", "scope_missing")


@check("404: a model that is not there")
async def not_found(setting):
    client = setting.client()
    error = await raised(
        openai.NotFoundError, lambda: client.chat.completions.create(**say(model="gpt-17"))
    )
    assert_error(error, 404, "invalid_request_error", "model_not_found", "model")


@check("409: a key that is taken")
async def conflict(setting):
    client = setting.client(key=credentials["admin_key"])
    body = {"key": credentials["agent_key"], "name": "Again", "model": MODEL}
    error = await raised(openai.ConflictError, lambda: client.post("/agents", cast_to=object, body=body))
    assert_error(error, 409, "invalid_request_error", "agent_key_taken", "key")


@check("400: what makes no sense to the gateway, or to the provider")
async def bad_request(setting):
    create = setting.client().chat.completions.create
    error = await raised(openai.BadRequestError, lambda: create(model=MODEL, messages=[None]))
    assert_error(error, 400, "invalid_request_error", "invalid_type", "messages[0]")
    theirs = {"message": "Too long.", "code": "context_length_exceeded", "param": "messages"}
    error = await raised(
        openai.BadRequestError, lambda: create(**say(), extra_body=simulate(status=400, error=theirs))
    )
    assert_error(error, 400, "invalid_request_error", "context_length_exceeded", "messages", of_provider=True)
    assert error.body["message"] == "Too long."


@check("422: what the provider can not process")
async def unprocessable(setting):
    client = setting.client()
    error = await raised(
        openai.UnprocessableEntityError,
        lambda: client.chat.completions.create(
            **say(), extra_body=simulate(status=422, error={"message": "No.", "code": "odd"})
        ),
    )
    assert_error(error, 422, "invalid_request_error", "odd", of_provider=True)


@check("429: a provider that wants patience, with its retry-after")
async def rate_limited(setting):
    client = setting.client()
    body = simulate(status=429, retry_after=30, error={"message": "Slow down.", "code": "slow"})
    error = await raised(
        openai.RateLimitError, lambda: client.chat.completions.create(**say(), extra_body=body)
    )
    assert_error(error, 429, "rate_limit_error", "provider_rate_limited")
    assert error.response.headers["retry-after"] == "30"


@check("429: the SDK waits as long as it is told and tries again")
async def retries(setting):
    name = str(uuid.uuid4())
    # The gateway tries three times itself, so its client's second request is the provider's fourth.
    once = {"status": 429, "headers": {"retry-after-ms": "20"}}
    body = simulate(id=name, content="at last", attempts=[once, once, once])
    client = setting.client(max_retries=1)
    answer = await settled(client.chat.completions.create(**say(), extra_body=body))
    assert answer.choices[0].message.content == "at last"
    assert len(provider_requests(name)) == 4


@check("5xx: a provider that fails")
async def server_error(setting):
    client = setting.client()
    error = await raised(
        openai.InternalServerError,
        lambda: client.chat.completions.create(**say(), extra_body=simulate(status=500)),
    )
    assert_error(error, 502, "api_error", "provider_error")


@check("an error in the middle of a stream surfaces after what came before it")
async def broken_stream(setting):
    fault = simulate(content="one two three four", cut="mid_stream", cut_after_chunks=2)
    call = setting.client().chat.completions.create(**say(stream=True), extra_body=fault)
    stream = await settled(call)
    text = ""

    async def read():
        nonlocal text
        async for chunk in each(stream):
            text += chunk.choices[0].delta.content or ""

    error = await raised(openai.APIError, read)
    assert text == "one two ", text
    assert (error.type, error.code, error.param) == ("api_error", "provider_error", None), error.body
    assert "ended its answer early" in error.message


raise SystemExit(asyncio.run(run([Setting("blocking", openai.OpenAI), Setting("async", openai.AsyncOpenAI)])))
