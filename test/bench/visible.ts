import { tracePage } from '@gatehouse/contract/traces';
import { openLoop, percentiles, type Latencies, type Target } from './load.ts';

const pollMs = 50;
/** How long after the load the last run may come. */
const patienceMs = 20_000;

/**
 * How long after their end runs are seen by somebody who polls `traces/follow` twenty times a second, under a steady
 * load. Throws when one does not come.
 */
export async function visibleAfter(target: Target, perSecond: number, seconds: number): Promise<Latencies> {
  const seen = new Map<string, number>();
  let query = `since=${new Date().toISOString()}`;
  const poll = async (): Promise<void> => {
    for (;;) {
      const response = await fetch(`${target.url}/v1/traces/follow?limit=200&${query}`, {
        headers: target.headers,
      });
      const page = tracePage.parse(await response.json());
      const now = Date.now();
      for (const { id, ended_at: endedAt } of page.traces)
        if (endedAt !== null && !seen.has(id)) seen.set(id, now - Date.parse(endedAt));
      query = `cursor=${encodeURIComponent(page.next_cursor)}`;
      if (!page.has_more) return;
    }
  };
  const giveUpAt = Date.now() + seconds * 1_000 + patienceMs;
  const load = openLoop(target, perSecond, seconds);
  const wanted = perSecond * seconds;
  while (seen.size < wanted) {
    if (Date.now() > giveUpAt) throw new Error(`only ${seen.size} of ${wanted} runs were seen`);
    await poll();
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  await load;
  return percentiles([...seen.values()]);
}
