import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';
import type OpenAI from 'openai';
import {
  APIError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from 'openai';
import { errorOf, say, sdkClient, simulate } from './sdk.ts';

/** The official SDK's reading of the gateway's errors. */
let gateway: SomeGateway;
let tenant: TenantAccess;
let client: OpenAI;

beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
  client = sdkClient(gateway, tenant.userKey);
});
afterAll(async () => gateway.stop());

interface Expected {
  name: string;
  type: new (...args: never[]) => APIError;
  status: number;
  message: string | RegExp;
  /** Whether the body is the provider's. */
  isOfProvider?: boolean;
  fields: { type: string; code: string | null; param: string | null };
  call: () => PromiseLike<unknown>;
}

const create = (fields: object, from = client): PromiseLike<unknown> =>
  from.chat.completions.create({ ...say('hello'), ...fields });

const refusals: Expected[] = [
  {
    name: 'an unknown key',
    type: AuthenticationError,
    status: 401,
    message: /key/,
    fields: { type: 'authentication_error', code: 'invalid_api_key', param: null },
    call: () => create({}, sdkClient(gateway, 'gwk_nobody_knows')),
  },
  {
    name: 'a scope that the key lacks',
    type: PermissionDeniedError,
    status: 403,
    message: /agents\.write/,
    fields: { type: 'permission_error', code: 'scope_missing', param: null },
    call: () => client.post('/agents', { body: { key: 'mine', name: 'Mine', model: 'small' } }),
  },
  {
    name: 'a model that is not there',
    type: NotFoundError,
    status: 404,
    message: /gpt-17/,
    fields: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
    call: () => create({ model: 'gpt-17' }),
  },
  {
    name: 'an agent that is not there',
    type: NotFoundError,
    status: 404,
    message: /agent:nobody/,
    fields: { type: 'invalid_request_error', code: 'model_not_found', param: 'model' },
    call: () => create({ model: 'agent:nobody' }),
  },
  {
    name: 'a path that is not there',
    type: NotFoundError,
    status: 404,
    message: /There is no such endpoint: POST \/v1\/images\/generations\./,
    fields: { type: 'invalid_request_error', code: 'route_not_found', param: null },
    call: () => client.images.generate({ model: 'small', prompt: 'a gate' }),
  },
  {
    name: 'a request that makes no sense to the gateway',
    type: BadRequestError,
    status: 400,
    message: /messages\[0\]/,
    fields: { type: 'invalid_request_error', code: 'invalid_type', param: 'messages[0]' },
    call: () => create({ messages: [null] }),
  },
  {
    name: 'a request that makes no sense to the provider',
    type: BadRequestError,
    status: 400,
    message: 'Too many tokens.',
    isOfProvider: true,
    fields: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'messages' },
    call: () =>
      create(
        simulate({
          status: 400,
          error: { message: 'Too many tokens.', code: 'context_length_exceeded', param: 'messages' },
        }),
      ),
  },
  {
    name: 'a key that is taken',
    type: ConflictError,
    status: 409,
    message: 'Another agent of the tenant has this key.',
    fields: { type: 'invalid_request_error', code: 'agent_key_taken', param: 'key' },
    call: async () => {
      const admin = sdkClient(gateway, tenant.adminKey);
      const body = { key: 'taken', name: 'Taken', model: 'small' };
      await admin.post('/agents', { body });
      await admin.post('/agents', { body });
    },
  },
  {
    name: 'a request that the provider can not process',
    type: UnprocessableEntityError,
    status: 422,
    message: 'No such voice.',
    isOfProvider: true,
    fields: { type: 'invalid_request_error', code: null, param: 'voice' },
    call: () =>
      create(simulate({ status: 422, error: { message: 'No such voice.', code: null, param: 'voice' } })),
  },
  {
    name: 'a provider that wants us to slow down',
    type: RateLimitError,
    status: 429,
    // Its own words may name the platform's account.
    message: /impatient limits requests/,
    fields: { type: 'rate_limit_error', code: 'provider_rate_limited', param: null },
    call: () =>
      create({
        model: 'impatient',
        ...simulate({
          status: 429,
          retry_after: 7,
          error: { message: 'Slow down.', code: 'rate_limit_exceeded' },
        }),
      }),
  },
  {
    name: 'a provider that fails',
    type: InternalServerError,
    status: 502,
    message: /impatient/,
    fields: { type: 'api_error', code: 'provider_error', param: null },
    call: () => create({ model: 'impatient', ...simulate({ status: 500 }) }),
  },
  {
    name: 'a provider that knows no such key of ours',
    type: InternalServerError,
    status: 502,
    message: /credentials/,
    fields: { type: 'api_error', code: 'provider_authentication', param: null },
    call: () => create({ model: 'impatient', ...simulate({ status: 401 }) }),
  },
  {
    name: 'a provider that takes too long',
    type: InternalServerError,
    status: 504,
    message: /in time/,
    fields: { type: 'timeout_error', code: 'provider_timeout', param: null },
    call: () => create({ model: 'impatient', ...simulate({ silent: 'before_headers' }) }),
  },
];

describe('an error', () => {
  it.each(refusals)('because of $name is a $status of the right class', async (expected) => {
    const error = await errorOf(expected.call());
    expect(error).toBeInstanceOf(expected.type);
    expect(error.status).toBe(expected.status);
    expect(error.message).toMatch(expected.message);
    const { type, code, param } = error;
    expect({ type, code, param }).toEqual(expected.fields);
    expect(error.requestID).toEqual(expect.any(String));
    const requestId = expected.isOfProvider === true ? undefined : error.requestID;
    expect((error.error as { request_id?: string }).request_id).toBe(requestId);
  });

  it('of a stream that has not begun is of the same class', async () => {
    const error = await errorOf(create({ model: 'gpt-17', stream: true }));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error.code).toBe('model_not_found');
  });

  it('of an unknown key says how to authenticate', async () => {
    const error = await errorOf(sdkClient(gateway, 'garbage').models.list());
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.headers?.get('www-authenticate')).toBe('Bearer');
  });

  it('is a 403 for a suspended tenant, and a 502 for as long as a provider refuses connections', async () => {
    const suspended = await gateway.makeTenant();
    const route = `/internal/v1/owner/tenants/${suspended.id}`;
    await gateway.call(route, { key: gateway.ownerKey, method: 'PATCH', body: { status: 'suspended' } });
    const refused = await errorOf(create({}, sdkClient(gateway, suspended.userKey)));
    expect(refused).toBeInstanceOf(PermissionDeniedError);
    expect(refused.code).toBe('tenant_suspended');

    for (let call = 0; call < 12; call += 1) {
      const alone = await errorOf(create({ model: 'refusing' }));
      expect(alone).toBeInstanceOf(InternalServerError);
      expect(alone).toMatchObject({ status: 502, code: 'provider_unreachable', type: 'api_error' });
    }
  });

  it('in the middle of a stream surfaces after what came before it', async () => {
    const { data: stream, request_id: requestId } = await client.chat.completions
      .create({
        ...say('hello'),
        stream: true,
        ...simulate({ content: 'one two three four', cut: 'mid_stream', cut_after_chunks: 2 }),
      })
      .withResponse();
    let text = '';
    const error = await errorOf(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      })(),
    );
    expect(text).toBe('one two ');
    expect(error.constructor).toBe(APIError);
    expect(error).toMatchObject({
      type: 'api_error',
      code: 'provider_error',
      param: null,
      requestID: requestId,
    });
    expect(error.message).toMatch(/simulator/);
  });

  it('that the provider itself reports in the middle of a stream surfaces too', async () => {
    const stream = await client.chat.completions.create({
      ...say('hello'),
      stream: true,
      ...simulate({
        content: 'one two three',
        error_event_after_chunks: 1,
        error: { message: 'Overloaded.' },
      }),
    });
    let text = '';
    const error = await errorOf(
      (async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
      })(),
    );
    expect(text).toBe('one ');
    expect(error.constructor).toBe(APIError);
    expect(error).toMatchObject({
      message: 'Overloaded.',
      type: 'api_error',
      code: 'provider_error',
      param: null,
    });
  });
});

describe('the SDK’s retries', () => {
  it('wait as long as the provider’s retry-after says, then succeed', async () => {
    const id = newId();
    const start = performance.now();
    const completion = await client.chat.completions.create(
      {
        ...say('hello', 'impatient'),
        ...simulate({ id, content: 'at last', attempts: [{ status: 429, retry_after: 1 }] }),
      },
      { maxRetries: 2 },
    );
    expect(completion.choices[0]?.message.content).toBe('at last');
    // Without the header its first pause is half a second at most.
    expect(performance.now() - start).toBeGreaterThanOrEqual(1_000);
    expect(gateway.simulator.requests.filter((request) => request.id === id)).toHaveLength(2);
  });

  it('wait the milliseconds of retry-after-ms, and end with the error when none are left', async () => {
    const id = newId();
    const start = performance.now();
    const error = await errorOf(
      client.chat.completions.create(
        {
          ...say('hello', 'impatient'),
          ...simulate({ id, status: 429, headers: { 'retry-after-ms': '40' } }),
        },
        { maxRetries: 5 },
      ),
    );
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.headers?.get('retry-after-ms')).toBe('40');
    expect(error.headers?.get('retry-after')).toBe('1');
    const tookMs = performance.now() - start;
    expect(tookMs).toBeGreaterThanOrEqual(200);
    // Its own pauses would be 0.4 + 0.75 + 1.5 + 3 + 6 s at least.
    expect(tookMs).toBeLessThan(10_000);
    expect(gateway.simulator.requests.filter((request) => request.id === id)).toHaveLength(6);
  });

  it('are not made for what will not get better', async () => {
    const id = newId();
    const fault = simulate({ id, status: 400 });
    expect(
      await errorOf(client.chat.completions.create({ ...say('x'), ...fault }, { maxRetries: 3 })),
    ).toBeInstanceOf(BadRequestError);
    expect(gateway.simulator.requests.filter((request) => request.id === id)).toHaveLength(1);
  });
});
