import { describe, it } from '@jest/globals';
import type { UsageSystem } from './usage-system.ts';

/** Declares the tests of a system whose only analytics service is paused. */
export function pausedAnalytics(of: () => UsageSystem): void {
  describe('analytics paused for 10 s', () => {
    it('loses no run and delays no tenant after it, with the longest previews', async () => {
      const messages = [{ role: 'user', content: 'What happens when things break? '.repeat(400) }];
      const provider = { content: 'All of it is counted. '.repeat(600) };
      const system = of();
      await system.chaos.explain(() =>
        system.expectNothingLostWhilePaused('analytics-1', { fields: { messages }, provider }),
      );
    });
  });
}
