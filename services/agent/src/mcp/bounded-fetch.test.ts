import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { boundedFetch } from './bounded-fetch.ts';
import { MessageReader } from './message-reader.ts';

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { more: 'x'.repeat(100_000) } });
const url = 'https://mcp.example.com';
const options = { tenantId: 'tenant', reader: new MessageReader(), onFault: () => undefined };

describe.each([
  ['application/json', body],
  ['text/event-stream', `data: ${body}\n\n`],
  ['application/json; charset=utf-8', `\ufeff${body}`],
  ['text/event-stream; charset=utf-8', `\ufeffdata: ${body}\n\n`],
])('a large body of %s', (type, text) => {
  const headers = { 'content-type': type };

  it('is read', async () => {
    const fetch = boundedFetch(() => Promise.resolve(new Response(text, { headers })), {
      ...{ ...options, timeoutMs: 60_000 },
    });
    expect(await (await fetch(url, { method: 'POST' })).text()).toContain('"id":1');
  });

  it('is not read for a request that was given up while it came', async () => {
    const call = new AbortController();
    const send = (): Promise<Response> => {
      call.abort(new Error('given up'));
      return Promise.resolve(new Response(text, { headers }));
    };
    const fetch = boundedFetch(send, { ...options, timeoutMs: 60_000 });
    const read = fetch(url, { method: 'POST', signal: call.signal }).then((response) => response.text());
    await expect(read).rejects.toThrow('given up');
  });

  it('is not read after the time of its request, whether or not the client gives it up', async () => {
    const send = async (): Promise<Response> => {
      await sleep(50);
      return new Response(text, { headers });
    };
    const fetch = boundedFetch(send, { ...options, timeoutMs: 1 });
    const read = fetch(url, { method: 'POST' }).then((response) => response.text());
    await expect(read).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(await (await fetch(url, { method: 'GET' })).text()).toContain('"id":1');
  });
});
