import { describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry, type Registry } from '@gatehouse/kit/metrics';
import { newId } from '@gatehouse/kit/ids';
import type { RememberRequest } from '@gatehouse/proto/memory/v1/memory';
import { eventually } from '@gatehouse/test/eventually';
import { RememberQueue, type RememberQueueOptions } from './remember-queue.ts';

const log = createLogger('test', 'silent');
const outage = new Error('outage');

function makeTurn(fields: Partial<RememberRequest> = {}): RememberRequest {
  return {
    ...{
      tenantId: newId(),
      agentId: newId(),
      analyser: 'english',
      userId: 'ada',
      sessionId: '',
      runId: newId(),
    },
    ...{ input: 'in', output: 'out', startedAtMs: 1n },
    ...fields,
  };
}

function setUp(
  remember: (turn: RememberRequest) => Promise<boolean>,
  limits: RememberQueueOptions['limits'] = {},
  drainMs = 1_000,
): { queue: RememberQueue; registry: Registry } {
  const registry = createRegistry('test');
  const queue = new RememberQueue({
    ...{ memory: { remember }, isOutage: (error) => error === outage, log, registry, drainMs },
    limits: { retryMs: 4, ...limits },
  });
  return { queue, registry };
}

/** How many turns had each outcome. */
async function outcomes(registry: Registry): Promise<Record<string, number>> {
  const text = await registry.getSingleMetricAsString('gatehouse_memory_turns_total');
  const lines = [...text.matchAll(/outcome="(\w+)".*\} (\d+)/g)];
  const counts = lines.map(([, name = '', count]): [string, number] => [name, Number(count)]);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

describe('turns for memory', () => {
  it('are each sent once, at most four at a time', async () => {
    const sent: string[] = [];
    let [atOnce, most] = [0, 0];
    const { queue, registry } = setUp(async ({ runId }) => {
      most = Math.max(most, (atOnce += 1));
      await sleep(2);
      atOnce -= 1;
      sent.push(runId);
      return sent.length > 10;
    });
    const turns = Array.from({ length: 30 }, () => makeTurn());
    for (const turn of turns) queue.add(turn);
    await queue.stop();
    expect(sent.toSorted()).toEqual(turns.map(({ runId }) => runId).toSorted());
    expect(most).toBe(4);
    expect(await outcomes(registry)).toEqual({ stored: 20, skipped: 10 });
  });

  it('are tried again during an outage, and given up after a few tries', async () => {
    let calls = 0;
    const { queue, registry } = setUp(() =>
      (calls += 1) === 3 ? Promise.resolve(true) : Promise.reject(outage),
    );
    queue.add(makeTurn());
    await eventually(async () => expect(await outcomes(registry)).toEqual({ stored: 1 }));
    expect(calls).toBe(3);
    queue.add(makeTurn());
    await eventually(async () => expect(await outcomes(registry)).toEqual({ stored: 1, failed: 1 }));
    expect(calls).toBe(7);
    await queue.stop();
  });

  it('that memory rejects are not tried again', async () => {
    let calls = 0;
    const { queue, registry } = setUp(() => {
      calls += 1;
      return Promise.reject(new Error('rejected'));
    });
    queue.add(makeTurn());
    await queue.stop();
    expect([calls, await outcomes(registry)]).toEqual([1, { failed: 1 }]);
  });

  it('beyond a number are dropped and counted, and fit again once others are sent', async () => {
    const gate = Promise.withResolvers<boolean>();
    const { queue, registry } = setUp(() => gate.promise, { maxWaitingOfAll: 2 });
    for (let n = 0; n < 8; n += 1) queue.add(makeTurn());
    await eventually(async () => expect(await outcomes(registry)).toEqual({ dropped: 2 }));
    gate.resolve(true);
    await eventually(async () => expect(await outcomes(registry)).toEqual({ dropped: 2, stored: 6 }));
    queue.add(makeTurn());
    await queue.stop();
    expect(await outcomes(registry)).toEqual({ dropped: 2, stored: 7 });
  });

  it('of one tenant take neither all places nor all senders', async () => {
    const gate = Promise.withResolvers<boolean>();
    const [busy, other] = [newId(), newId()];
    const { queue, registry } = setUp(
      ({ tenantId }) => (tenantId === busy ? gate.promise : Promise.resolve(true)),
      { maxWaiting: 3 },
    );
    for (let n = 0; n < 8; n += 1) queue.add(makeTurn({ tenantId: busy }));
    for (let n = 0; n < 5; n += 1) queue.add(makeTurn({ tenantId: other }));
    await eventually(async () => expect(await outcomes(registry)).toEqual({ dropped: 3, stored: 5 }));
    gate.resolve(true);
    await eventually(async () => expect(await outcomes(registry)).toEqual({ dropped: 3, stored: 10 }));
    await queue.stop();
  });

  it("that can't be sent while the service stops are dropped in time", async () => {
    const { queue, registry } = setUp(() => Promise.reject(outage), { retryMs: 60_000 }, 50);
    for (let n = 0; n < 10; n += 1) queue.add(makeTurn());
    const began = performance.now();
    await queue.stop();
    expect(performance.now() - began).toBeLessThan(1_000);
    queue.add(makeTurn());
    await eventually(async () => {
      const { dropped = 0, failed = 0 } = await outcomes(registry);
      expect(dropped + failed).toBe(11);
    });
  });
});
