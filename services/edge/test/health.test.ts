import { expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { EdgeUnderTest } from './edge-under-test.ts';

it('/health says unavailable while the edge drains', async () => {
  const edge = await EdgeUnderTest.start({ DRAIN_DELAY_MS: '1000' });
  const status = async (): Promise<number> => (await fetch(`${edge.url}/health`)).status;
  await eventually(async () => expect(await status()).toBe(200));
  const stopped = edge.stop();
  expect(await status()).toBe(503);
  await stopped;
});
