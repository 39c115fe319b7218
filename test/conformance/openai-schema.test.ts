import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import { problemsOf } from './conformance.ts';
import { counterexamples } from './counterexamples.ts';
import { exchanges, type Target } from './exchanges.ts';
import type { SchemaCheck } from './schema-check.ts';
import { sdkSchemaCheck } from './sdk-schema.ts';

let gateway: SomeGateway;
let target: Target;
let check: SchemaCheck;

beforeAll(async () => {
  check = sdkSchemaCheck();
  gateway = await openGateway();
  const { adminKey, userKey } = await gateway.makeTenant();
  const body = { key: 'poet', name: 'Poet', model: 'small', system_prompt: 'Answer in verse.' };
  expect((await gateway.call('/v1/agents', { key: adminKey, body })).status).toBe(201);
  target = { url: gateway.url, key: userKey, models: ['small', 'vendor/large'], agent: 'agent:poet' };
});
afterAll(async () => gateway.stop());

describe('OpenAI’s schema', () => {
  it.each(exchanges)('describes $name', async (exchange) => {
    expect(await problemsOf(target, exchange, check)).toEqual([]);
  });

  it.each(counterexamples)('does not describe an answer $name', ({ kind, document }) => {
    expect(check(kind, document)).toHaveLength(1);
  });
});
