import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { UsageSystem } from './usage-system.ts';

let system: UsageSystem;
beforeAll(async () => {
  system = await UsageSystem.start();
});
afterAll(async () => system.stop(), 60_000);

describe('analytics paused for 10 s', () => {
  it('loses no run and delays no tenant after it, with the longest previews', async () => {
    const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(400) }];
    const provider = { content: 'All of it is counted. '.repeat(600) };
    await system.chaos.explain(() =>
      system.expectNothingLostWhilePaused('analytics-1', { fields: { messages }, provider }),
    );
  });
});
