import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { DatabaseProxy } from '@gatehouse/test/database-proxy';
import { Probe } from '../test/probe.ts';
import { DatabaseCheck } from './database-check.ts';
import { createPool } from './pool.ts';

const log = createLogger('test', 'silent');
const role = 'probe_app';
const service = 'probe';

let probe: Probe;
beforeAll(async () => {
  probe = await Probe.start();
});
afterAll(async () => probe.stop());

describe('whether the database answers', () => {
  it('is known also while every connection of the service is busy', async () => {
    const busy = createPool({ url: probe.url, role, max: 2, log });
    const database = new DatabaseCheck({ url: probe.url, role, service, log });
    const work = Array.from({ length: 2 }, () => busy.query('select pg_sleep(2)'));
    expect(await database.answers()).toBe(true);
    expect([busy.totalCount, busy.idleCount]).toEqual([2, 0]);
    await Promise.all(work);
    await busy.end();
    await database.stop();
  });

  it('is noticed at once when it is cut off, and when it is back', async () => {
    const proxy = new DatabaseProxy(probe.url);
    await proxy.open();
    const database = new DatabaseCheck({ url: proxy.url, role, service, log });
    expect(await database.answers()).toBe(true);
    await proxy.cut();
    const began = performance.now();
    expect(await database.answers()).toBe(false);
    expect(performance.now() - began).toBeLessThan(1_000);
    await proxy.open();
    expect(await database.answers()).toBe(true);
    await database.stop();
    await proxy.cut();
  });

  it('is a no in time when it takes connections and hangs, and is not asked again meanwhile', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => void sockets.push(socket));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const database = new DatabaseCheck({
      url: `postgres://a:b@127.0.0.1:${port}/c`,
      role,
      service,
      log,
      answerTimeoutMs: 150,
    });
    const began = performance.now();
    const answers = Array.from({ length: 3 }, () => database.answers());
    expect(await Promise.all(answers)).toEqual([false, false, false]);
    // Before the connection times out.
    expect(performance.now() - began).toBeLessThan(1_900);
    expect(sockets).toHaveLength(1);
    for (const socket of sockets) socket.destroy();
    await database.stop();
    mute.close();
  });
});
