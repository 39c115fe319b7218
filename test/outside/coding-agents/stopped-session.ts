import { createServer, request as requestOnward } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectSuccess, GatewayClient } from '@gatehouse/local/gateway-client';

/** A session after its stop, or one begun in the hold of the stop. */
interface RefusedSession {
  /** Requests for an answer sent after the stop. */
  requests: number;
  /** The output and the complaints of the program. */
  printed: string;
}

/**
 * Stops the run of a program while its first answer is under way, and starts the program again while requests are refused.
 * `run` starts it with a key of its own, at an address that counts its requests.
 */
export async function stoppedSession(
  { url, adminKey }: { url: string; adminKey: string },
  run: (address: string, key: string) => Promise<string>,
): Promise<{ cut: RefusedSession; held: RefusedSession }> {
  const client = new GatewayClient(url);
  const call = async (method: string, path: string, body?: object) =>
    expectSuccess(await client.call(adminKey, method, path, body), path);
  let counted = 0;
  const counter = createServer((request, response) => {
    const { method, url: path = '', headers } = request;
    if (method === 'POST' && path.split('?')[0] === '/v1/messages') counted += 1;
    const onward = requestOnward(new URL(path, url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(counter, 'listening');
  try {
    const made = await call('POST', '/v1/api-keys', { name: 'Stopped', role: 'user' });
    const key = made as { id: string; key: string };
    const { port } = counter.address() as AddressInfo;
    const start = () => run(`http://127.0.0.1:${port}`, key.key).catch(String);
    const ended = start();
    const running = `/v1/traces?status=running&api_key_id=${key.id}`;
    const endsBy = Date.now() + 60_000;
    while (((await call('GET', running))['data'] as unknown[]).length === 0) {
      if (Date.now() > endsBy) throw new Error(`nothing runs: ${await ended}`);
      await sleep(100);
    }
    counted = 0;
    await call('POST', '/v1/runs/stop', { api_key_id: key.id, hold_seconds: 600 });
    const cut = { printed: await ended, requests: counted };
    counted = 0;
    const held = { printed: await start(), requests: counted };
    return { cut, held };
  } finally {
    counter.closeAllConnections();
    counter.close();
  }
}
