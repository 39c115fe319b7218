import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
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

it('a tenant with many streams makes a frame of another one wait for a few of its frames, not for all', async () => {
  const responses: ServerResponse[] = [];
  const base_url = await fixture.serve((request, response) => {
    request.resume();
    responses.push(response.writeHead(200, { 'content-type': 'text/event-stream' }));
    response.write(frame);
  });
  const adapter = fixture.adapter({ base_url });
  const answers = new AnswerBudget({ perTenant: 2 ** 30, perProcess: 2 ** 30 });
  const order: string[] = [];
  let counts = false;
  const open = async (tenantId: string): Promise<void> => {
    const stream = await adapter.stream(streamCall({}, { room: answers.open(tenantId) }));
    stream.consume({
      frames: () => {
        if (counts) {
          busy();
          order.push(tenantId);
        }
        return true;
      },
      end: () => undefined,
      fail: () => undefined,
    });
  };
  const many = 60;
  for (let stream = 0; stream < many; stream += 1) await open('many');
  await open('one');
  counts = true;
  for (const response of responses) response.write(frame);
  while (order.length <= many) await sleep(10);
  // One before the event loop is late, one whose turn is first, and those whose bytes are seen a turn earlier.
  expect(order.indexOf('one')).toBeLessThanOrEqual(5);
  expect(order.filter((tenantId) => tenantId === 'many')).toHaveLength(many);
});
