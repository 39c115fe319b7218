import { expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import type { RequestsRefused } from './refused-event.ts';
import { RefusedRequestsPublisher } from './refused-publisher.ts';
import type { RefusedRequest } from './refused-requests.ts';
import type { EventSink, PartitionBatch } from './sink.ts';

const tenantId = newId();
const request: RefusedRequest = {
  ...{ tenant_id: tenantId, code: 'model_not_found', message: '', operation: 'chat', request_model: 'none' },
  model: '',
  ...{ agent_id: null, channel: 'api', dialect: 'chat', client: null, user_id: null, api_key_id: null },
  ...{ request_id: newId(), trace_id: newId(), session_id: null },
};

/** A sink that stores each event, but answers only once `isDown` is false. */
class LossySink implements EventSink {
  isDown = false;
  readonly stored: RequestsRefused[] = [];

  publish(batches: readonly PartitionBatch[]): Promise<void> {
    for (const { json } of batches.flatMap(({ events }) => events))
      this.stored.push((JSON.parse(json) as { data: RequestsRefused }).data);
    return this.isDown ? Promise.reject(new Error('the answer is lost')) : Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

it('sends counts of an unknown end again under the same id, and later ones under another', async () => {
  const sink = new LossySink();
  const publisher = new RefusedRequestsPublisher({
    sink,
    source: 'test',
    log: createLogger('test', 'silent'),
  });
  publisher.counts.note(request);
  sink.isDown = true;
  // Stopping publishes what is left, once; it may be called again.
  await publisher.stop();
  publisher.counts.note(request);
  sink.isDown = false;
  await publisher.stop();
  await publisher.stop();
  const ids = sink.stored.map(({ id }) => id);
  expect(ids[0]).toBe(ids[1]);
  expect(new Set(ids).size).toBe(2);
  expect(sink.stored.map(({ entries }) => entries[0]?.count)).toEqual([1, 1, 1]);
});
