import { createSecureServer } from 'node:http2';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generate } from 'selfsigned';
import { eventually } from '@gatehouse/test/eventually';
import { AllowList } from '../src/allow-list.ts';
import { Egress, type EgressRequest } from '../src/egress.ts';
import type { EgressError } from '../src/errors.ts';
import { Guard } from '../src/guard.ts';
import { Target } from './target.ts';

/** The addresses of each host, by question. */
const names = new Map<string, string[][]>();
const asked: { host: string; trusted: boolean }[] = [];

async function resolve(host: string, { trusted }: { trusted: boolean }) {
  asked.push({ host, trusted });
  const answers = names.get(host) ?? [[]];
  const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

let target: Target;
let secure: Target;
let tls: { key: string; cert: string };
let egress: Egress;
let received: { url: string; method: string; headers: IncomingHttpHeaders; body: string }[];
const answers: Record<string, (response: ServerResponse) => void> = {
  '/large': (response) => response.end('x'.repeat(10_000_000)),
  '/never': () => undefined,
  '/headers': (response) => response.writeHead(200, { 'x-large': 'x'.repeat(20_000) }).end(),
  '/drip': (response) => {
    const timer = setInterval(() => response.write('x'), 100);
    response.on('close', () => clearInterval(timer));
  },
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('x');
    setTimeout(() => response.destroy(), 20);
  },
  '/gone': (response) => response.writeHead(410).end(),
};

beforeAll(async () => {
  target = await Target.start((request, response) => {
    const { url = '', method = '', headers } = request;
    let body = '';
    request.on('data', (chunk) => {
      body += String(chunk);
    });
    request.on('end', () => {
      received.push({ url, method, headers, body });
      const { pathname, searchParams } = new URL(url, 'http://any');
      const to = searchParams.get('to');
      if (to !== null)
        response.writeHead(Number(searchParams.get('status') ?? '302'), { location: to }).end('elsewhere');
      else
        (answers[pathname] ?? ((any) => any.writeHead(200, { 'x-two': ['a', 'b'] }).end('hello')))(response);
    });
  });
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'secure.test' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'secure.test' }] }],
  });
  tls = { key, cert };
  secure = await Target.start((_request, response) => response.end('over TLS'), tls);
  const guard = new Guard(
    new AllowList(['allowed.test', 'other.test', 'unknown.test', 'secure.test', 'wrong.test']),
    resolve,
  );
  egress = new Egress({ guard, ca: cert, idleMs: 1_000 });
});
beforeEach(() => {
  names.clear();
  for (const host of ['allowed.test', 'other.test', 'secure.test', 'wrong.test'])
    names.set(host, [['127.0.0.1']]);
  asked.length = 0;
  received = [];
  target.connections = 0;
});
afterAll(async () => {
  await egress.stop();
  await target.stop();
  await secure.stop();
});

const at = (host: string, path = '/', port = target.port) => new URL(`http://${host}:${port}${path}`);
const get = (url: URL, more: Partial<EgressRequest> = {}) =>
  egress.request({ tenantId: null, method: 'GET', url, ...more });
/** Each has a share of the calls of a host. */
const tenantOf = (n: number): string => `tenant ${n % 2}`;
const failure = async (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => (error as EgressError).failure,
  );

describe('a host that the operator has named', () => {
  it('is called, and answers with its status, headers and body', async () => {
    const answer = await egress.request({
      tenantId: null,
      method: 'POST',
      url: at('allowed.test', '/hook?a=1'),
      headers: { 'webhook-id': 'msg_1' },
      body: Buffer.from('{"a":1}'),
    });
    expect(answer).toMatchObject({ status: 200, headers: { 'x-two': 'a, b' }, body: Buffer.from('hello') });
    expect(received).toMatchObject([{ url: '/hook?a=1', method: 'POST', body: '{"a":1}' }]);
    expect(received[0]?.headers).toMatchObject({ 'webhook-id': 'msg_1', 'accept-encoding': 'identity' });
    expect(asked).toEqual([{ host: 'allowed.test', trusted: true }]);
    expect((await get(at('allowed.test', '/gone'))).status).toBe(410);
  });

  it('is not called through a proxy of the environment', async () => {
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${secure.port}`;
    try {
      expect((await get(at('allowed.test'))).body.toString()).toBe('hello');
    } finally {
      delete process.env['HTTP_PROXY'];
    }
  });
});

describe('no connection is made', () => {
  it.each([
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1', '127.0.0.1.', 'localhost'],
    ...[
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[::127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
    ],
    ...[
      '0.0.0.0',
      '0',
      '[::]',
      'user:secret@allowed.test',
      'allowed.test@127.0.0.1',
      'inside.test',
      'mixed.test',
    ],
    ...['１２７.０.０.１', '127。0。0。1', 'sub.allowed.test', 'allowed.test.evil.test'],
  ])('to %s', async (host) => {
    for (const [name, ...addresses] of [
      ['localhost', '127.0.0.1'],
      ['inside.test', '127.0.0.1'],
      ['mixed.test', '1.1.1.1', '127.0.0.1'],
      ['sub.allowed.test', '127.0.0.1'],
      ['allowed.test.evil.test', '127.0.0.1'],
    ])
      names.set(name ?? '', [addresses]);
    for (const scheme of ['http', 'https']) {
      const url = URL.parse(`${scheme}://${host}:${target.port}/`);
      if (url !== null) expect([url.href, await failure(get(url))]).toEqual([url.href, 'not_allowed']);
    }
    expect(target.connections).toBe(0);
  });

  it('to a host that resolves to another address than when it was checked', async () => {
    names.set('rebind.test', [['1.1.1.1'], ['127.0.0.1']]);
    const guard = new Guard(new AllowList([]), resolve);
    const url = await guard.check(`https://rebind.test:${target.port}/`, 'callback_url');
    expect(await failure(get(url))).toBe('not_allowed');
    expect(target.connections).toBe(0);
  });

  it('to where a redirect leads, if that is not allowed', async () => {
    const second = await Target.start((_request, response) => response.end('secret'));
    try {
      for (const to of [
        `http://127.0.0.1:${second.port}/`,
        'file:///etc/passwd',
        `http://inside.test:${second.port}/`,
      ]) {
        const url = at('allowed.test', `/?to=${encodeURIComponent(to)}`);
        expect(await failure(get(url, { maxRedirects: 3 }))).toBe('not_allowed');
      }
      expect(second.connections).toBe(0);
    } finally {
      await second.stop();
    }
  });
});

describe('redirects', () => {
  const redirect = (to: URL, status = 302, from = 'allowed.test') =>
    at(from, `/?status=${status}&to=${encodeURIComponent(to.href)}`);

  it('are an answer unless they may be followed, and then only so many', async () => {
    const url = redirect(redirect(at('allowed.test')));
    expect(await get(url)).toMatchObject({ status: 302 });
    expect(await get(url, { maxRedirects: 1 })).toMatchObject({ status: 302 });
    expect(await get(url, { maxRedirects: 2 })).toMatchObject({ status: 200 });
  });

  it('repeat the body only where the status says so, and never take credentials to another host', async () => {
    const headers = { authorization: 'Bearer secret', 'content-type': 'text/plain', 'x-api-key': 'secret' };
    const post = (status: number, host: string) =>
      egress.request({
        tenantId: null,
        method: 'POST',
        url: redirect(at(host, '/end'), status),
        headers,
        body: Buffer.from('data'),
        maxRedirects: 1,
      });
    const last = async (status: number, host: string) => {
      await post(status, host);
      const sent = received.at(-1);
      return [sent?.method, sent?.body, sent?.headers.authorization, sent?.headers['x-api-key']];
    };
    expect(await last(303, 'allowed.test')).toEqual(['GET', '', 'Bearer secret', 'secret']);
    expect(await last(307, 'allowed.test')).toEqual(['POST', 'data', 'Bearer secret', 'secret']);
    expect(await last(307, 'other.test')).toEqual(['POST', 'data', undefined, undefined]);
    expect(await last(302, 'other.test')).toEqual(['GET', '', undefined, undefined]);
  });
});

describe('a call', () => {
  it('ends in its time also while the host is not resolved or connected', async () => {
    const { promise: never, resolve: end } = Promise.withResolvers<[]>();
    const slow = new Egress({ guard: new Guard(new AllowList(['slow.test']), () => never) });
    const url = new URL('http://slow.test/');
    expect(await failure(slow.request({ tenantId: null, method: 'GET', url, timeoutMs: 100 }))).toBe(
      'timeout',
    );
    const signal = AbortSignal.abort(new Error('given up'));
    await expect(slow.request({ tenantId: null, method: 'GET', url, signal })).rejects.toThrow('given up');
    end([]);
    await slow.stop();
  });

  it('is refused when 64 of its host are under way', async () => {
    const caller = new AbortController();
    const calls = Array.from({ length: 64 }, (_, n) =>
      get(at('allowed.test', '/never'), { tenantId: tenantOf(n), signal: caller.signal, idleMs: 10_000 }),
    );
    expect(await failure(get(at('allowed.test')))).toBe('busy');
    expect((await get(at('other.test'))).status).toBe(200);
    caller.abort(new Error('given up'));
    expect(new Set(await Promise.all(calls.map((call) => failure(call))))).toEqual(new Set([undefined]));
    expect((await get(at('allowed.test'))).status).toBe(200);
  });

  it.each(['host', 'Host', 'content-length', 'transfer-encoding', 'connection', 'proxy-authorization'])(
    'has no header %s of its caller',
    async (name) =>
      expect(await failure(get(at('allowed.test'), { headers: { [name]: '1' } }))).toBe('invalid_request'),
  );

  it('has no header that would end it', async () => {
    for (const value of ['a\r\nb: c', 'Ж'])
      expect(await failure(get(at('allowed.test'), { headers: { 'x-a': value } }))).toBe('invalid_request');
  });
});

describe('an answer', () => {
  it('has a limit, at which it fails unless its body is ignored', async () => {
    expect(await failure(get(at('allowed.test', '/large')))).toBe('too_large');
    for (const path of ['/large', '/drip']) {
      const ignored = await get(at('allowed.test', path), { ignoreBody: true, timeoutMs: 3_000 });
      expect([ignored.status, ignored.body.length]).toEqual([200, 0]);
    }
    expect(await failure(get(at('allowed.test', '/headers')))).toBe('too_large');
  });

  it('has its time, for the first byte and in all', async () => {
    expect(await failure(get(at('allowed.test', '/never')))).toBe('timeout');
    expect(await failure(get(at('allowed.test', '/drip'), { timeoutMs: 1_500 }))).toBe('timeout');
  });

  it('that is cut, or does not come, is a failure that says nothing of the address', async () => {
    expect(await failure(get(at('allowed.test', '/cut')))).toBe('invalid_response');
    expect(await failure(get(at('unknown.test')))).toBe('unreachable');
    const closed = await Target.start(() => undefined);
    const { port } = closed;
    await closed.stop();
    await expect(get(at('allowed.test', '/', port))).rejects.toThrow(/^The host could not be reached\.$/);
  });

  it('that is not HTTP is one that is invalid', async () => {
    const lines = createServer((socket) => socket.resume().end('SSH-2.0-OpenSSH_9.2\r\n'));
    await new Promise<void>((done) => lines.listen(0, '127.0.0.1', done));
    const { port } = lines.address() as AddressInfo;
    expect(await failure(get(at('allowed.test', '/', port)))).toBe('invalid_response');
    await new Promise((done) => lines.close(done));
  });

  it('is not waited for by a caller that has given up', async () => {
    const caller = new AbortController();
    const call = get(at('allowed.test', '/never'), { signal: caller.signal });
    setTimeout(() => caller.abort(new Error('given up')), 50);
    await expect(call).rejects.toThrow('given up');
  });
});

describe('an answer that arrives while it is read', () => {
  const open = (path: string, more: Partial<EgressRequest> = {}) =>
    egress.open({ tenantId: null, method: 'GET', url: at('allowed.test', path), ...more });
  const textOf = async (stream: ReadableStream<Uint8Array>) =>
    Buffer.concat(await Array.fromAsync(stream)).toString();

  it('is there before its end', async () => {
    const { status, body } = await open('/drip');
    const reader = body.getReader();
    const { value } = await reader.read();
    expect([status, Buffer.from(value ?? []).toString()]).toEqual([200, 'x']);
    await reader.cancel();
    expect(await textOf((await open('/')).body)).toBe('hello');
  });

  it('has its size, its time and its end', async () => {
    expect(await failure(open('/large').then(({ body }) => textOf(body)))).toBe('too_large');
    expect(await failure(open('/drip', { timeoutMs: 500 }).then(({ body }) => textOf(body)))).toBe('timeout');
    expect(await failure(open('/cut').then(({ body }) => textOf(body)))).toBe('invalid_response');
    expect(await failure(open('/never'))).toBe('timeout');
    const caller = new AbortController();
    const read = open('/drip', { signal: caller.signal }).then(({ body }) => textOf(body));
    setTimeout(() => caller.abort(new Error('given up')), 300);
    await expect(read).rejects.toThrow('given up');
  });

  it('counts as a call until it is over', async () => {
    const streams = await Promise.all(
      Array.from({ length: 64 }, (_, n) => open('/drip', { tenantId: tenantOf(n), idleMs: 30_000 })),
    );
    expect(await failure(open('/'))).toBe('busy');
    for (const { body } of streams) await body.cancel();
    await eventually(async () => expect(await failure(get(at('allowed.test')))).toBe('none'));
  });

  it('comes from nowhere else than any other', async () => {
    const url = new URL(`http://127.0.0.1:${target.port}/`);
    expect(await failure(egress.open({ tenantId: null, method: 'GET', url }))).toBe('not_allowed');
    expect((await open(`/?to=${encodeURIComponent(at('other.test').href)}`)).status).toBe(302);
  });
});

it('HTTP/2 is not offered, which has no limit of headers', async () => {
  const { key, cert } = tls;
  const protocols: unknown[] = [];
  const server = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => {
    protocols.push(request.httpVersion);
    response.end('either');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  expect((await get(new URL(`https://secure.test:${port}/`))).body.toString()).toBe('either');
  expect(protocols).toEqual(['1.1']);
  await new Promise((done) => server.close(done));
});

it('certificates are verified, whatever the environment says', async () => {
  const url = (host: string) => new URL(`https://${host}:${secure.port}/`);
  expect((await get(url('secure.test'))).body.toString()).toBe('over TLS');
  expect(await failure(get(url('wrong.test')))).toBe('tls');
  const strict = new Egress({ guard: new Guard(new AllowList(['secure.test']), resolve) });
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    expect(await failure(strict.request({ tenantId: null, method: 'GET', url: url('secure.test') }))).toBe(
      'tls',
    );
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    await strict.stop();
  }
});
