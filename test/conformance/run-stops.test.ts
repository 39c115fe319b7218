import { createServer, request as httpRequest, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DialectName } from '@gatehouse/contract/dialects';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import { sdkClients } from './sdk-clients.ts';

/** Official SDKs with their usual retries before two replicas of chat, while runs are stopped. */

let gateway: SomeGateway;
let counter: Server;
let counted = 0;
beforeAll(async () => {
  gateway = await openGateway({ chats: 2 });
  counter = createServer((request, response) => {
    counted += 1;
    const { method, url: path, headers } = request;
    const onward = httpRequest(new URL(path ?? '', gateway.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(counter, 'listening');
});
afterAll(async () => {
  counter.closeAllConnections();
  counter.close();
  await gateway.stop();
});

const models: Readonly<Record<DialectName, string>> = {
  chat: 'small',
  responses: 'small',
  messages: 'claude',
  gemini: 'small',
};

describe.each(Object.entries(models))('the SDK of %s', (dialect, model) => {
  it.each(['ask', 'stream'] as const)(
    'does not send again what was stopped, or is refused: %s',
    async (ask) => {
      const tenant = await gateway.makeTenant();
      const { port } = counter.address() as AddressInfo;
      const client = sdkClients(`http://127.0.0.1:${port}`, tenant.userKey, { retries: 3 })[
        dialect as DialectName
      ];
      const before = gateway.simulator.requests.length;
      counted = 0;
      gateway.simulator.setFault({ chunks: 2, chunk_delay_ms: 60_000, delay_ms: ask === 'ask' ? 60_000 : 0 });
      try {
        const pending = client[ask]({ model, prompt: 'x' });
        const failed = expect(pending).rejects.toThrow(/stopped/);
        await eventually(() => expect(gateway.simulator.requests.length).toBe(before + 1));
        const me = await gateway.call('/v1/whoami', { key: tenant.userKey });
        const { key_id: api_key_id } = me.body as { key_id: string };
        const stop = await gateway.call('/v1/runs/stop', { key: tenant.adminKey, body: { api_key_id } });
        expect(stop.status).toBe(202);
        await failed;
      } finally {
        gateway.simulator.setFault(null);
      }
      await expect(client[ask]({ model, prompt: 'x' })).rejects.toThrow(/stopped/);
      expect([counted, gateway.simulator.requests.length - before]).toEqual([2, 1]);
    },
  );
});
