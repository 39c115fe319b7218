import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { tracePage } from '@gatehouse/contract/traces';
import { costSummary } from '@gatehouse/contract/usage';
import { newId } from '@gatehouse/kit/ids';
import { picoOf } from '@gatehouse/kit/money';
import { eventually } from '@gatehouse/test/eventually';
import { AnalyticsHarness } from './analytics-harness.ts';
import { describeStores } from './describe-stores.ts';
import { makeCall, makeEnd, makeStart } from './event-fixture.ts';

let analytics: AnalyticsHarness;

describeStores('versions of prices', (engine) => {
  beforeAll(async () => {
    analytics = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => analytics.stop());

  it('costs can be counted again by the versions of prices that traces show, also of one minute', async () => {
    const tenantId = newId();
    const picoBy: Record<string, bigint> = { v1: 1_000n, v2: 3_000n, v3: 7n };
    // Prices change in the middle of runs as well.
    for (const versions of [['v1'], ['v1', 'v2'], ['v2'], ['v3'], ['v2', 'v3']]) {
      const spans = versions.map((version) =>
        makeCall({ price_version: version, cost_pico: String(picoBy[version]) }),
      );
      const cost = versions.reduce((sum, version) => sum + (picoBy[version] ?? 0n), 0n);
      const start = makeStart({ tenant_id: tenantId });
      await analytics.ingest(
        makeEnd({ ...start, spans, cost_pico: String(cost), price_version: versions.at(-1) }),
      );
    }
    await analytics.ingest(
      makeEnd({
        ...makeStart({ tenant_id: tenantId }),
        spans: [makeCall({ cost_pico: null })],
        cost_pico: null,
      }),
    );
    // Transactions of tests beside this one hold `follow` back.
    const calls = await eventually(async () => {
      const page = tracePage.parse(await analytics.get('/v1/traces/follow?include_spans=true', { tenantId }));
      const spans = page.traces.flatMap((trace) => trace.spans ?? []);
      expect(spans.map(({ price_version: version }) => version).sort()).toEqual(
        ['v1', 'v1', 'v2', 'v2', 'v2', 'v3', 'v3', null].sort(),
      );
      return spans;
    });
    const again = calls.reduce((sum, { price_version: version }) => sum + (picoBy[version ?? ''] ?? 0n), 0n);
    const costs = costSummary.parse(await analytics.get('/v1/costs/summary', { tenantId }));
    expect(picoOf(costs.total_usd)).toBe(again);
    expect(again).toBe(11_014n);
  });
});
