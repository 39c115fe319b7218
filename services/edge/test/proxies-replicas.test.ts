import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { ask, edgeTo, host, replica, stopAll, ways } from './proxy-fixture.ts';
import { VanishedReplica } from './vanished-replica.ts';

/** Requests through either proxy when a replica is gone, or goes while it is used. */

afterEach(stopAll);

let vanished: VanishedReplica;
beforeAll(async () => {
  vanished = await VanishedReplica.start();
});
afterAll(() => vanished.stop());

describe.each(ways)('$way', ({ path }) => {
  describe('a replica that refuses the connection', () => {
    it('costs nothing: another one answers', async () => {
      const good = await replica((_request, response) => response.end('{}'));
      const edge = await edgeTo(`${host}:${await freePort()}`, good);
      for (let count = 0; count < 4; count += 1) expect((await ask(edge, path)).status).toBe(200);
    });

    it('is a 503 when there is no other', async () => {
      const edge = await edgeTo(`${host}:${await freePort()}`);
      const answer = await ask(edge, path);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await answer.json()).toMatchObject({
        error: { type: 'unavailable_error', code: 'service_unavailable', param: null },
      });
    });
  });

  describe('a replica that is gone without a word', () => {
    it.each(path === '/v1/agents' ? ['POST', 'GET'] : ['POST'])(
      'costs its requests a while, and no more: another replica answers them: %s',
      async (method) => {
        const good = await replica((_request, response) => response.end('{}'));
        const edge = await edgeTo(vanished.address, good);
        const headers = { authorization: `Bearer ${edge.key}` };
        const read = (): Promise<Response> => fetch(edge.url + path, { headers });
        const send = (): Promise<Response> => (method === 'GET' ? read() : ask(edge, path));
        const began = performance.now();
        const answers = await Promise.all([1, 2, 3, 4].map(send));
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        expect(performance.now() - began).toBeLessThan(10_000);
        // It is passed over for a while now, which a slow machine may let pass: then it is found again.
        await eventually(async () => {
          const soon = performance.now();
          await Promise.all([send(), send()]);
          expect(performance.now() - soon).toBeLessThan(800);
        });
      },
    );

    it('is a 503 in time when there is no other', async () => {
      const edge = await edgeTo(vanished.address);
      const began = performance.now();
      const answer = await ask(edge, path);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(performance.now() - began).toBeLessThan(10_000);
    });
  });

  describe('a replica', () => {
    it.each([
      ['resets the connection', (socket: Socket) => socket.resetAndDestroy()],
      ['closes the connection', (socket: Socket) => socket.end()],
      ['sends no HTTP', (socket: Socket) => socket.end('SSH-2.0-x\r\n\r\n')],
    ])('that %s before its answer is a 502, and is not asked twice', async (_name, fail) => {
      let seen = 0;
      const other = await replica((request, response) => {
        // The edge itself asks whether a replica answers.
        if (request.url !== '/livez') seen += 1;
        fail(response.socket as Socket);
      });
      const edge = await edgeTo(other, other);
      const answer = await ask(edge, path);
      expect([answer.status, await answer.json()]).toMatchObject([502, { error: { code: 'bad_gateway' } }]);
      expect(seen).toBe(1);
    });
  });

  describe('a kept connection to a service', () => {
    it('that breaks under a request fails that one, which is not sent twice', async () => {
      const requests = new Map<Socket, number>();
      let seen = 0;
      const address = await replica((incoming, response) => {
        seen += 1;
        const before = requests.get(incoming.socket) ?? 0;
        requests.set(incoming.socket, before + 1);
        if (before === 0) response.end('{}');
        else incoming.socket.destroy();
      });
      const edge = await edgeTo(address);
      expect((await ask(edge, path)).status).toBe(200);
      const broken = await ask(edge, path);
      expect(broken.status).toBe(502);
      expect(await broken.json()).toMatchObject({ error: { code: 'bad_gateway' } });
      expect([seen, requests.size]).toEqual([2, 1]);
      expect((await ask(edge, path)).status).toBe(200);
    });

    it('that is idle is closed by the edge, before any replica that drains would', async () => {
      const sockets = new Set<Socket>();
      const answer = async (incoming: IncomingMessage): Promise<void> => {
        sockets.add(incoming.socket);
        // Longer than an idle connection lives: this one is not idle.
        await sleep(slow ? 6_000 : 0);
      };
      let slow = true;
      const address = await replica(
        (incoming, response) => void answer(incoming).then(() => response.end('{}')),
      );
      const edge = await edgeTo(address);
      expect((await ask(edge, path)).status).toBe(200);
      slow = false;
      expect((await ask(edge, path)).status).toBe(200);
      const [socket] = [...sockets];
      if (socket === undefined || sockets.size > 1) throw new Error('it was not kept');
      const began = performance.now();
      if (!socket.readableEnded) await once(socket, 'end');
      expect(performance.now() - began).toBeLessThan(8_000);
    });
  });
});
