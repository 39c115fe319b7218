import Anthropic, { NotFoundError, RateLimitError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';

/** Counts of tokens through two replicas of chat, as Anthropic's own SDK asks for them. */

let gateway: SomeGateway;
let client: Anthropic;
beforeAll(async () => {
  gateway = await openGateway({ chats: 2 });
  client = clientOf((await gateway.makeTenant()).userKey);
});
afterAll(async () => gateway.stop());

const clientOf = (apiKey: string): Anthropic =>
  new Anthropic({ baseURL: gateway.url, apiKey, authToken: null, maxRetries: 0 });

const request = {
  system: 'Answer in one sentence.',
  messages: [{ role: 'user' as const, content: 'What is a gatehouse?' }],
  tools: [{ name: 'look', description: 'Looks.', input_schema: { type: 'object' as const } }],
};

it('are those of a provider with Anthropic’s API', async () => {
  const direct = new Anthropic({ baseURL: gateway.simulator.url, apiKey: 'provider-key', maxRetries: 0 });
  const counted = await client.messages.countTokens({ model: 'claude', ...request });
  expect(counted).toEqual(await direct.messages.countTokens({ model: 'claude', ...request }));
  expect(counted.input_tokens).toBeGreaterThan(5);
});

it('are estimates for other models, and say so', async () => {
  const { data, response } = await client.messages.countTokens({ model: 'small', ...request }).withResponse();
  expect(response.headers.get('x-gateway-estimated')).toBe('true');
  expect(data.input_tokens).toBeGreaterThan(10);
  expect(data.input_tokens).toBeLessThan(60);
});

it('fail as the SDK knows it', async () => {
  const error = await client.messages.countTokens({ model: 'none', ...request }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({
    error: { error: { type: 'not_found_error' } },
    requestID: expect.any(String),
  });
});

it('are 600 a minute for a key on all replicas, and leave requests, concurrency and usage alone', async () => {
  // Another key than that of the tests before, which may have counted in the same minute.
  const tenant = await gateway.makeTenant({ limits: { requests_per_minute: 1, max_concurrent: 1 } });
  const client = clientOf(tenant.userKey);
  await gateway.untilSecond(1);
  const outcomes: unknown[] = [];
  for (let batch = 0; batch < 18; batch += 1)
    outcomes.push(
      ...(await Promise.all(
        Array.from({ length: 35 }, () =>
          client.messages.countTokens({ model: 'claude', ...request }).catch((error: unknown) => error),
        ),
      )),
    );
  const refused = outcomes.filter((outcome): outcome is Error => outcome instanceof Error);
  expect(outcomes).toHaveLength(630);
  expect(refused).toHaveLength(30);
  for (const error of refused) {
    if (!(error instanceof RateLimitError)) throw error;
    expect(error).toMatchObject({ status: 429, error: { error: { type: 'rate_limit_error' } } });
    const wait = Number(new Headers(error.headers).get('retry-after'));
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(60);
  }
  // The request of the minute is still there.
  const message = await client.messages.create({
    model: 'claude',
    max_tokens: 50,
    messages: request.messages,
  });
  expect(message.content[0]).toMatchObject({ type: 'text' });
  const listed = await gateway.call('/v1/limits', { key: tenant.userKey });
  const { limits } = listed.body as { limits: { resource: string; used: number }[] };
  expect(limits.find(({ resource }) => resource === 'requests')).toMatchObject({ used: 1 });
  expect(JSON.stringify(limits)).not.toContain('counts');
  await eventually(async () => {
    const usage = await gateway.call('/v1/usage/summary?group_by=client,dialect', { key: tenant.userKey });
    expect(usage.body).toMatchObject({
      totals: { requests: 1, errors: 0 },
      groups: [{ key: { client: 'anthropic-sdk', dialect: 'messages' } }],
    });
  });
});
