import { afterEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { createRegistry } from '@gatehouse/kit/metrics';
import { eventually } from '@gatehouse/test/eventually';
import type { PriceSetting } from './catalogue.ts';
import { CatalogueWatch } from './catalogue-watch-job.ts';
import { OperatorList } from './operator-list.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const prices: PriceSetting = { url: 'https://prices.test/list.json', every: day };
const anyTime = AbortSignal.timeout(10 * minute);

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
  kept: string | null = null;

  readonly egress = {
    request: async () => {
      this.fetches += 1;
      const status = this.isAway ? 503 : 200;
      return { status, headers: {}, setCookies: [], body: Buffer.from(this.text) };
    },
  };
  readonly store = {
    keep: async (_url: string, list: string): Promise<void> => void (this.kept = list),
    find: async (): Promise<string | null> => this.kept,
  };
}

const replicas: Replica[] = [];
afterEach(async () => {
  for (const replica of replicas.splice(0)) await replica.stop();
});

/** A replica, which reads its list as often as it can, and whose clock moves when it is asked to. */
class Replica {
  /** The versions that it has charged by, one after another. */
  readonly versions: (string | undefined)[] = [];
  readonly reports: string[] = [];
  readonly list: OperatorList;
  readonly #watch: CatalogueWatch;
  #now = 0;

  constructor({ egress, store }: Site) {
    this.list = new OperatorList({
      ...{ catalogue: { prices }, egress, store, now: () => this.#now },
      pricing: { chargeBy: (own) => void this.versions.push(own?.version) },
      onFailure: ({ message }) => void this.reports.push(message),
      onUnkept: (error) => void this.reports.push(String(error)),
    });
    this.#watch = new CatalogueWatch({
      onInvalid: ({ problems }) => void this.reports.push(problems.join()),
      log: createLogger('test', 'silent'),
      registry: createRegistry('test'),
      everyMs: 1,
    });
    this.#watch.follow([
      {
        messages: { read: 'read', failed: 'failed' },
        used: () => this.list.used,
        text: () => this.list.text(),
        use: (text) => this.list.use(text),
      },
    ]);
  }

  static async start(site: Site): Promise<Replica> {
    const replica = new Replica(site);
    (await replica.list.prepared({ prices }, anyTime))();
    replica.#watch.start();
    replicas.push(replica);
    return replica;
  }

  get version(): string | undefined {
    return this.versions.at(-1);
  }

  stop(): Promise<void> {
    this.list.stop();
    return this.#watch.stop();
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** Some hours at most, in minutes. */
  async passUntil(check: () => void): Promise<void> {
    const end = this.#now + day / 4;
    await eventually(() => {
      if (this.#now < end) this.pass(minute);
      check();
    });
  }

  /** Minutes in which the list is fetched several times. */
  async passFetches(site: Site, count = 4): Promise<void> {
    const before = site.fetches;
    await this.passUntil(() => expect(site.fetches).toBeGreaterThanOrEqual(before + count));
  }
}

describe('a list behind a URL that is fetched once a day', () => {
  it('is fetched each minute while it has mistakes, which are reported once', async () => {
    const site = new Site();
    const replica = await Replica.start(site);
    site.text = wrong;
    replica.pass(day);
    await eventually(() => expect(replica.reports).toHaveLength(1));
    await replica.passFetches(site);
    expect(replica.version).toBe('v1');
    expect(replica.reports).toEqual([expect.stringContaining('prices')]);
    site.text = listOf('v2');
    await replica.passUntil(() => expect(replica.version).toBe('v2'));
    expect(site.kept).toContain('"v2"');
    expect(replica.reports).toHaveLength(1);
  });

  it('and has mistakes leaves all replicas with the last one that any of them used', async () => {
    const site = new Site();
    const [first, second] = [await Replica.start(site), await Replica.start(site)];
    site.text = listOf('v2');
    first.pass(day);
    await eventually(() => expect(first.version).toBe('v2'));
    site.text = wrong;
    second.pass(day);
    await eventually(() => expect(second.version).toBe('v2'));
    expect(second.reports).toHaveLength(1);
  });

  it('is reported again once another failure came between', async () => {
    const site = new Site();
    const replica = await Replica.start(site);
    site.text = wrong;
    replica.pass(day);
    await eventually(() => expect(replica.versions).toEqual(['v1', 'v1']));
    site.isAway = true;
    await replica.passUntil(() => expect(replica.reports).toHaveLength(2));
    site.isAway = false;
    await replica.passUntil(() => expect(replica.reports).toHaveLength(3));
    expect(replica.reports[2]).toBe(replica.reports[0]);
  });

  it('has mistakes when a replica starts: it charges by the kept one, and reports once', async () => {
    const site = new Site();
    site.kept = `\n${listOf('v1')}`;
    site.text = wrong;
    const replica = await Replica.start(site);
    await replica.passFetches(site);
    expect(replica.version).toBe('v1');
    expect(replica.reports).toHaveLength(1);
  });

  it('and the kept one too has mistakes: the one in use stays, and each is reported once', async () => {
    const site = new Site();
    const replica = await Replica.start(site);
    site.kept = '\n{}';
    site.text = wrong;
    replica.pass(day);
    await eventually(() => expect(replica.reports).toHaveLength(2));
    await replica.passFetches(site);
    expect(replica.reports).toHaveLength(2);
    expect(replica.version).toBe('v1');
  });

  it('is kept for other replicas as it was read, also if another one was fetched meanwhile', async () => {
    const site = new Site();
    const replica = new Replica(site);
    const { list } = replica;
    (await list.prepared({ prices }, anyTime))();
    site.text = wrong;
    replica.pass(day);
    await eventually(async () => expect(await list.text()).toContain('wrong'));
    await list.use(listOf('v2'));
    expect(site.kept).toContain('"v2"');
  });
});
