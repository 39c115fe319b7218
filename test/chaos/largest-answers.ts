import { describe, expect, it } from '@jest/globals';
import type { Instructions } from '@gatehouse/test/provider-simulator/faults';
import type { CompletionCall } from './gateway-client.ts';
import { completeAll, longestPreviews, type UsageSystem } from './usage-system.ts';

const maxChatMiB = 500;
const unprintable = '\u0001'.repeat(12_000);
const endless = {
  prompt_tokens: 1e12,
  completion_tokens: 1e12,
  cached_tokens: 1e12,
  reasoning_tokens: 1e12,
};
const answers: { stream: boolean; provider: Omit<Instructions, 'id'> }[] = [
  { stream: true, provider: { error_event_after_chunks: 1, chunks: 2, huge_error_bytes: 3_000_000 } },
  { stream: true, provider: { huge_chunk_bytes: 9_000_000 } },
  { stream: true, provider: { huge_model_bytes: 1_200_000, chunks: 2 } },
  { stream: false, provider: { huge_model_bytes: 1_200_000 } },
  { stream: false, provider: { huge_chunk_bytes: 9_000_000 } },
  { stream: false, provider: { content: unprintable, usage: endless } },
  { stream: false, provider: { status: 400, huge_error_bytes: 1_000_000 } },
  { stream: false, provider: { status: 400, huge_error_bytes: 20_000 } },
  { stream: false, provider: { status: 500, huge_error_bytes: 1_000_000 } },
];

/** Declares the tests of a system whose provider answers with as much as it may. */
export function largestAnswers(of: () => UsageSystem): void {
  describe('a provider that answers with the largest of everything', () => {
    it('leaves every run counted, other tenants alone, and chat below 500 MB', async () => {
      const system = of();
      await system.chaos.explain(async () => {
        const tenant = await system.makeTenant(longestPreviews);
        const quiet = await system.makeTenant();
        const messages = [{ role: 'user', content: unprintable }];
        const calls = answers.flatMap((answer) =>
          Array<CompletionCall>(5).fill({ ...answer, fields: { messages } }),
        );
        const outcomes = await completeAll(tenant.client, calls);
        expect(outcomes.filter(({ ending }) => ending !== 'answer' && ending !== 'error')).toEqual([]);
        expect((await quiet.client.complete()).ending).toBe('answer');
        const peak = await system.chaos.peakMemory('chat-1');
        await system.expectNothingLost();
        const counted = await system.usageOf(tenant);
        const ran = new Set(system.chaos.simulator.requests.map(({ id }) => id));
        expect(counted.requests).toBe(outcomes.filter(({ id }) => ran.has(id)).length);
        expect(counted.requests).toBeGreaterThan(calls.length / 2);
        expect((await system.usageOf(quiet)).requests).toBe(1);
        expect(peak).toBeLessThan(maxChatMiB);
      });
    });
  });
}
