import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { estimateTokens, sampleOf } from '@gatehouse/dialects/usage/token-estimate';
import { ChatHarness } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

it('a service that has started has its tokenizer: the first estimate loads nothing', async () => {
  const before = process.threadCpuUsage();
  expect(await estimateTokens(sampleOf('hello'))).toBe(1);
  const { user, system } = process.threadCpuUsage(before);
  // In microseconds of the event loop's thread: a millisecond, and 210 ms where it is loaded.
  expect(user + system).toBeLessThan(100_000);
});
