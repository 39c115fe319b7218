import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { FetchedList } from './fetched-list.ts';

const url = 'https://prices.test/list.json';
const anyTime = AbortSignal.timeout(600_000);

const listOf = (version: string): string =>
  JSON.stringify({
    version,
    prices: { acme: { small: { input_per_mtok: '1', output_per_mtok: '2' } } },
  });
const wrong = JSON.stringify({ version: 'wrong' });

/** The last good list for all replicas, and the server with the newest one. */
class Site {
  text = listOf('v1');
  isAway = false;
  fetches = 0;
  stored: string | null = null;

  readonly egress = {
    request: async () => {
      this.fetches += 1;
      const status = this.isAway ? 503 : 200;
      return { status, headers: {}, setCookies: [], body: Buffer.from(this.text) };
    },
  };
  readonly store = {
    keep: async (_url: string, list: string): Promise<void> => void (this.stored = list),
    find: async (): Promise<string | null> => this.stored,
  };

  /** Waits for some more fetches. */
  async fetched(): Promise<void> {
    const before = this.fetches;
    await eventually(() => expect(this.fetches).toBeGreaterThan(before + 4));
  }
}

const lists: FetchedList[] = [];
afterEach(async () => {
  for (const list of lists.splice(0)) await list.stop();
});

/** A replica, with the versions that it has charged by, one after another, and its reports. */
async function replicaOf({ egress, store }: Site) {
  const versions: (string | undefined)[] = [];
  const reports: string[] = [];
  const list = new FetchedList({
    ...{ setting: { url, every: 10 }, egress, store },
    use: ({ version }) => void versions.push(version),
    onFailure: ({ message }) => void reports.push(message),
    onUnkept: (error) => void reports.push(String(error)),
  });
  lists.push(list);
  versions.push((await list.first(anyTime))?.version);
  list.start();
  return { versions, reports };
}

describe('a list behind a URL', () => {
  it('that has mistakes leaves the one before in use, and is reported once', async () => {
    const site = new Site();
    const { versions, reports } = await replicaOf(site);
    site.text = wrong;
    await site.fetched();
    expect(reports).toEqual([expect.stringContaining('prices')]);
    site.text = listOf('v2');
    await eventually(() => expect(versions).toEqual(['v1', 'v2']));
    expect(site.stored).toBe(site.text);
    expect(reports).toHaveLength(1);
  });

  it('that has mistakes leaves a replica with the last one that another used', async () => {
    const site = new Site();
    const { versions, reports } = await replicaOf(site);
    site.stored = listOf('v2');
    await site.fetched();
    expect(versions).toEqual(['v1']);
    site.text = wrong;
    await eventually(() => expect(versions).toEqual(['v1', 'v2']));
    expect(reports).toHaveLength(1);
  });

  it('is reported again once another failure came between', async () => {
    const site = new Site();
    const { reports } = await replicaOf(site);
    site.text = wrong;
    await site.fetched();
    site.isAway = true;
    await eventually(() => expect(reports).toHaveLength(2));
    site.isAway = false;
    await eventually(() => expect(reports).toHaveLength(3));
    expect(reports[2]).toBe(reports[0]);
  });

  it('that has mistakes when a replica starts: it charges by the stored one, and reports once', async () => {
    const site = new Site();
    site.stored = `\n${listOf('v1')}`;
    site.text = wrong;
    const { versions, reports } = await replicaOf(site);
    await site.fetched();
    expect(versions).toEqual(['v1']);
    expect(reports).toHaveLength(1);
  });

  it('and the stored one too have mistakes: the one in use stays', async () => {
    const site = new Site();
    const { versions, reports } = await replicaOf(site);
    site.stored = '\n{}';
    site.text = wrong;
    await site.fetched();
    expect(reports).toHaveLength(1);
    expect(versions).toEqual(['v1']);
  });
});
