import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';
import { monotonicMs, sleep } from '@gatehouse/kit/clock';
import { ProviderFixture, streamCall } from '../../test/provider-fixture.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterAll(async () => fixture.stop());

const frame = 'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n';

/** Longer than all frames that are read in one turn of the event loop may take. */
const busy = (): void => {
  const until = monotonicMs() + 11;
  while (monotonicMs() < until);
};

/** Streams with a first frame; `send` writes them another one, each at once. */
async function openStreams(
  tenants: readonly string[],
  onFrame: (tenantId: string) => void,
): Promise<{ send: () => void }> {
  const responses: ServerResponse[] = [];
  const base_url = await fixture.serve((request, response) => {
    request.resume();
    responses.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
    response.write(frame);
  });
  const adapter = fixture.adapter({ base_url });
  const answers = new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 });
  let counts = false;
  for (const tenantId of tenants) {
    const stream = await adapter.stream(streamCall({}, { room: answers.open(tenantId) }));
    stream.consume({
      frames: () => {
        if (counts) onFrame(tenantId);
        return true;
      },
      end: () => undefined,
      fail: () => undefined,
    });
  }
  return {
    send: () => {
      counts = true;
      for (const response of responses) response.write(frame);
    },
  };
}

const many = 60;

it('a tenant with many streams makes a frame of another one wait for a few of its frames, not for all', async () => {
  const order: string[] = [];
  const { send } = await openStreams([...Array<string>(many).fill('many'), 'one'], (tenantId) => {
    busy();
    order.push(tenantId);
  });
  send();
  while (order.length <= many) await sleep(10);
  // One before the event loop is late, one whose turn is first, and those whose bytes are seen a turn earlier.
  expect(order.indexOf('one')).toBeLessThanOrEqual(5);
  expect(order.filter((tenantId) => tenantId === 'many')).toHaveLength(many);
});

it('frames that have waited for a busy event loop are read together', async () => {
  let frames = 0;
  const { send } = await openStreams(Array<string>(many).fill('many'), () => {
    if (frames === 0) busy();
    frames += 1;
  });
  send();
  let turns = 0;
  for (; frames < many; turns += 1) await nextTurn();
  expect(turns).toBeLessThan(many);
});
