import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { ReadableStream } from 'node:stream/web';
import { endedTrace } from '@gatehouse/test/ended-trace';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
});
afterAll(async () => gateway.stop());

const messages = [{ role: 'user', content: 'x' }];

/** Bytes on a fresh connection, and everything that comes back until it closes. */
async function raw(bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = '';
    socket.setTimeout(10_000, () => socket.destroy());
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('close', () => resolve(received));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      received === '' ? reject(error) : resolve(received),
    );
  });
}

function rawRequest(lines: string[], body = ''): string {
  return `${lines.join('\r\n')}\r\nhost: gateway\r\nauthorization: Bearer ${tenant.userKey}\r\nconnection: close\r\n\r\n${body}`;
}

function* megabytes(count: number): Iterable<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1) yield Buffer.alloc(1024 * 1024, 'x');
}

describe('X-Service-User-Id', () => {
  it.each([
    ['empty', ''],
    ['256 characters long', 'a'.repeat(256)],
    ['not ASCII', 'zo\u00eb'],
    ['a tab', 'a\tb'],
  ])('that is %s is a 400', async (_name, value) => {
    const text = await raw(rawRequest(['GET /v1/agents HTTP/1.1', `x-service-user-id: ${value}`]));
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('"param":"X-Service-User-Id"');
  });

  it('that comes twice is a 400', async () => {
    const text = await raw(
      rawRequest(['GET /v1/agents HTTP/1.1', 'x-service-user-id: ann', 'x-service-user-id: bob']),
    );
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('of 255 printable characters is taken', async () => {
    const headers = { 'x-service-user-id': '~'.repeat(255) };
    expect((await gateway.call('/v1/agents', { key: tenant.userKey, headers })).status).toBe(200);
  });

  it('is ignored where no user acts', async () => {
    const headers = { 'x-service-user-id': 'a'.repeat(300) };
    expect((await gateway.call('/v1/whoami', { key: tenant.userKey, headers })).status).toBe(200);
  });
});

describe('headers that only the edge may send', () => {
  it('are not taken from clients', async () => {
    const headers = { 'x-gatehouse-assertion': 'forged', 'x-gatehouse-service-token': 'forged' };
    const answer = await gateway.call('/v1/whoami', { key: tenant.userKey, headers });
    expect(answer.body).toMatchObject({ tenant_id: tenant.id, role: 'user' });
  });

  it('cannot be removed by naming them in Connection', async () => {
    const lines = ['GET /v1/whoami HTTP/1.1', 'connection: x-gatehouse-assertion, close'];
    expect(await raw(rawRequest(lines))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a body that is too large', () => {
  const limit = 20 * 1024 * 1024;
  const body = JSON.stringify({
    model: 'small',
    messages: [{ role: 'user', content: 'x'.repeat(25 * 1024 * 1024) }],
  });

  it('of 25 MiB is a 413 that the client can read, with a length and without', async () => {
    const answer = await gateway.call('/v1/chat/completions', { key: tenant.userKey, body });
    expect(answer.status).toBe(413);
    expect(answer.body).toMatchObject({
      error: { type: 'invalid_request_error', code: 'payload_too_large' },
    });
    const chunked = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.userKey}`, 'content-type': 'application/json' },
      body: ReadableStream.from(megabytes(25)),
      duplex: 'half',
    });
    expect(chunked.status).toBe(413);
  });

  it('gets its 413 before it is sent, where the client asks with Expect', async () => {
    const text = await raw(
      rawRequest([
        'POST /v1/chat/completions HTTP/1.1',
        'content-type: application/json',
        `content-length: ${limit + 1}`,
        'expect: 100-continue',
      ]),
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('just under the limit passes', async () => {
    const fits = JSON.stringify({
      model: 'small',
      messages: [{ role: 'user', content: 'x'.repeat(limit - 1_000) }],
    });
    expect((await gateway.call('/v1/chat/completions', { key: tenant.userKey, body: fits })).status).toBe(
      200,
    );
  });

  it('of more than 1 MiB is a 413 elsewhere', async () => {
    const large = JSON.stringify({ key: 'a', model: 'small', description: 'x'.repeat(1024 * 1024) });
    expect((await gateway.call('/v1/agents', { key: tenant.adminKey, body: large })).status).toBe(413);
  });
});

describe('a path', () => {
  it.each([
    '/app//agents',
    '/v1',
    '/v1/',
    '/v1/agents/',
    '//v1/agents',
    '/v1//agents',
    '/v1/./agents',
    '/v1/x/../agents',
    '/v1/%2e%2e/internal',
    '/V1/agents',
    '/v1/agents/%zz',
    '/internal',
    '/v2/agents',
  ])('%s that is in no table is a 404 in the error shape', async (path) => {
    const text = await raw(rawRequest([`GET ${path} HTTP/1.1`]));
    expect(text).toMatch(/^HTTP\/1\.1 404 /);
    expect(text).toContain('"code":"route_not_found"');
  });

  it('with an unknown query parameter is a 400 that names it', async () => {
    const answer = await gateway.call('/v1/agents?colour=red', { key: tenant.userKey });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: { code: 'unknown_parameter', param: 'colour' } });
  });
});

describe('HTTP that is not what it should be', () => {
  it('with a length and chunks at once is refused', async () => {
    const lines = ['POST /v1/agents HTTP/1.1', 'content-length: 4', 'transfer-encoding: chunked'];
    expect(await raw(rawRequest(lines, '0\r\n\r\n'))).toMatch(/^HTTP\/1\.1 400 /);
  });

  it('that is no HTTP is refused in the error shape', async () => {
    const text = await raw('nonsense\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('"type":"invalid_request_error"');
  });

  it('with 100 kB of headers is refused', async () => {
    expect(await raw(rawRequest(['GET /v1/agents HTTP/1.1', `x-large: ${'x'.repeat(100_000)}`]))).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  it('as HEAD gets the headers of a GET', async () => {
    const text = await raw(rawRequest(['HEAD /health HTTP/1.1']));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text.split('\r\n\r\n')[1]).toBe('');
  });
});

describe('every answer', () => {
  it('carries x-request-id: a valid incoming one, or a new one', async () => {
    const id = 'my-request_1.2';
    const kept = await gateway.call('/v1/whoami', { key: tenant.userKey, headers: { 'x-request-id': id } });
    expect(kept.headers.get('x-request-id')).toBe(id);
    const replaced = await gateway.call('/v1/nothing', { headers: { 'x-request-id': 'not valid!' } });
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(replaced.body).toMatchObject({ error: { request_id: replaced.headers.get('x-request-id') } });
  });

  it('of a completion continues the client’s trace', async () => {
    const traceId = 'a'.repeat(32);
    const answer = await gateway.call('/v1/chat/completions', {
      key: tenant.userKey,
      body: { model: 'small', messages },
      headers: { traceparent: `00-${traceId}-${'b'.repeat(16)}-01` },
    });
    expect(answer.headers.get('x-trace-id')).toBe(traceId);
    const seen = gateway.simulator.requests.at(-1);
    expect(seen?.headers['traceparent']).toContain(traceId);
    const trace = await endedTrace(gateway, 'id', answer.headers.get('x-run-id'));
    expect(trace).toMatchObject({ trace_id: traceId });
  });
});

describe('a prompt with NUL, lone surrogates and U+2028', () => {
  it('reaches the provider byte for byte', async () => {
    const body =
      '{"model":"small","messages":[{"role":"user","content":"\\u0000 \\ud83d \u2028 \\u2028 é"}]}';
    expect((await gateway.call('/v1/chat/completions', { key: tenant.userKey, body })).status).toBe(200);
    expect(gateway.simulator.requests.at(-1)?.raw_bytes.toString('utf8')).toBe(body);
  });
});
