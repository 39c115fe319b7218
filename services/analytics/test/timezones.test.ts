import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { inLanes, timezoneNames } from '@gatehouse/test/timezones';
import { AnalyticsHarness, endOf, startOf } from './analytics-harness.ts';
import { describeStores } from './describe-stores.ts';

let analytics: AnalyticsHarness;

/** The time zones that are refused; the others work. */
async function refusedOf(timezones: readonly string[]): Promise<string[]> {
  const tenantId = newId();
  await analytics.ingest(endOf(startOf({ tenant_id: tenantId })));
  const refused: string[] = [];
  for (const timezone of timezones) {
    const answers = await Promise.all(
      ['', '&group_by=day,month'].map((query) =>
        analytics
          .get(`/v1/usage/summary?timezone=${encodeURIComponent(timezone)}${query}`, { tenantId })
          .then(() => 'accepted')
          .catch((error: unknown) => (error as Error).message),
      ),
    );
    if (answers.every((answer) => answer === 'accepted')) continue;
    for (const answer of answers) {
      expect([timezone, answer]).toEqual([
        timezone,
        expect.stringMatching(/^400: .*"invalid_value".*"timezone"/),
      ]);
    }
    refused.push(timezone);
  }
  return refused;
}

describeStores('time zones', (engine) => {
  beforeAll(async () => {
    analytics = await AnalyticsHarness.start(undefined, engine);
  });
  afterAll(() => analytics.stop());

  it('a time zone is either refused with a 400 or works in every summary', async () => {
    const refused = (await Promise.all(inLanes(timezoneNames).map(refusedOf))).flat();
    expect(refused).toEqual(
      expect.arrayContaining(['US/Pacific-New', 'FOO+5', 'localtime', 'posix/Europe/Berlin']),
    );
    for (const name of ['Europe/Berlin', 'europe/berlin', 'Asia/Calcutta', 'Etc/GMT+5', 'UTC'])
      expect(refused).not.toContain(name);
  });
});
