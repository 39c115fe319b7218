import { expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { EndpointWait } from './patience.ts';

const opening = () => {
  const endpoint = { closed: true };
  return { endpoint, find: () => Promise.resolve(endpoint) };
};

it('resolves with an endpoint once it is open', async () => {
  const { endpoint, find } = opening();
  const found = new EndpointWait().untilOpen(find);
  endpoint.closed = false;
  expect(await found).toBe(endpoint);
});

it('resolves with null when the endpoint was deleted', async () => {
  expect(await new EndpointWait().untilOpen(() => Promise.resolve(null))).toBeNull();
});

it('lets a hundred senders wait, refuses more, and has room again when they are answered', async () => {
  const patience = new EndpointWait();
  const { endpoint, find } = opening();
  const waiting = Array.from({ length: 100 }, () => patience.untilOpen(find));
  await expect(patience.untilOpen(find)).rejects.toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '30' },
  });
  endpoint.closed = false;
  expect(await Promise.all(waiting)).toHaveLength(100);
  await eventually(async () => expect(await patience.untilOpen(find)).toBe(endpoint));
});
