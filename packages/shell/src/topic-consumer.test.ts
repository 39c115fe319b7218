import { afterEach, expect, it } from '@jest/globals';
import { topics, type ServiceName } from '@gatehouse/contract/services';
import type { Received } from '@gatehouse/events/dead-letters';
import { parseConfig } from '@gatehouse/kit/config';
import { createLogger } from '@gatehouse/kit/log';
import { testIdentity } from '@gatehouse/test/identity';
import { z } from 'zod';
import { Neighbours } from './neighbours.ts';
import { eventSink } from './outbox-publisher.ts';
import { serviceSettings } from './settings.ts';
import { Shell } from './shell.ts';
import { consumeTopic } from './topic-consumer.ts';

const identity = await testIdentity();
const log = createLogger('test', 'silent');
const config = { KAFKA_PREFIX: '', DATABASE_URL: 'no database' };
const object = { key: 't1', json: '{"a":1}', type: 'x', source: 'gatehouse/chat', data: {}, bytes: 7 };
const batches = [{ partition: 0, events: [{ key: 't1', json: '{"b":2}' }, object] }];

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function shellOf(name: ServiceName, neighbours: Neighbours): Promise<Shell> {
  const settings = parseConfig(z.object(serviceSettings), {
    ...{ HOST: '127.0.0.1', HTTP_PORT: '0', ADMIN_PORT: '0', DRAIN_DELAY_MS: '0' },
    ASSERTION_PRIVATE_KEY: identity.privateKey(name),
    ASSERTION_PUBLIC_KEYS: identity.publicKeys,
  });
  return Shell.create(name, settings, { log, neighbours });
}

/** Analytics in a process with these services, and what it takes. */
async function analytics() {
  const neighbours = new Neighbours(['analytics', 'chat', 'tenant'], { listen: false });
  const shell = await shellOf('analytics', neighbours);
  const taken: Received[] = [];
  consumeTopic(shell, {
    ...{ topic: topics.usage, config },
    take: async (events) => void taken.push(...events),
  });
  const service = shell.createService({ handler: (_request, response) => response.end(), parts: [] });
  await service.start();
  stops.push(() => service.stop());
  const sinkOf = async (name: ServiceName, passesObjects: boolean) => {
    const target = { config, topic: topics.usage, source: 'gatehouse/chat', consumer: [] };
    return eventSink(await shellOf(name, neighbours), target, { passesObjects });
  };
  return { service, taken, sinkOf };
}

it('gets objects as they are from a publisher of its process, and texts beside them', async () => {
  const { taken, sinkOf } = await analytics();
  const sink = await sinkOf('chat', true);
  expect(sink?.takesObjects).toBe(true);
  await sink?.publish(batches, { isFresh: true });
  expect(taken.map(({ payload, isChecked }) => [String(payload), isChecked])).toEqual([
    ['{"b":2}', true],
    ['{"a":1}', true],
  ]);
  expect(taken[1]?.object).toBe(object);
});

it('gets texts alone from others', async () => {
  const { taken, sinkOf } = await analytics();
  const sink = await sinkOf('chat', false);
  expect(sink?.takesObjects).toBe(false);
  await sink?.publish(batches);
  expect(taken.map(({ payload, object: one }) => [String(payload), one])).toEqual([
    ['{"b":2}', undefined],
    ['{"a":1}', undefined],
  ]);
});

it('takes no objects of a service that does not publish the topic, and none once it has stopped', async () => {
  const { service, taken, sinkOf } = await analytics();
  const forged = await sinkOf('tenant', true);
  await expect(forged?.publish(batches, { isFresh: true })).rejects.toMatchObject({
    code: 'caller_not_allowed',
  });
  const sink = await sinkOf('chat', true);
  await service.stop();
  await expect(sink?.publish(batches)).rejects.toMatchObject({ code: 'service_unavailable' });
  expect(taken).toEqual([]);
});
