import { expect } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { channelLines, type ChannelLine, type Heard, type MadeChannel, type Said } from './channel-lines.ts';
import type { ChaosSystem } from './chaos-system.ts';
import type { Random } from '@gatehouse/test/random';

/** A turn under way in a process that dies is taken up again half a minute later. */
const answeredWithinMs = 180_000;

/** A message that was sent, as its sender sees it. */
interface Delivered extends Said {
  line: ChannelLine;
  sentAt: number;
  acceptedAt: number;
  ids: Set<string>;
}

/** People by their numbers, from the first up to but without the second. */
export type People = readonly [number, number];

const isOf = ([first, end]: People, { person }: Heard): boolean => person >= first && person < end;
/** The messages that a reply answers, in its order: the simulated model repeats them. */
const answered = (text: string): string[] => text.match(/p\d+m\d+(?= end)/g) ?? [];

/** The providers of all types of channels, which the gateway finds by its settings. */
export class ChannelProviders {
  readonly lines: readonly ChannelLine[];
  readonly account: { consent: (location: string) => string };

  private constructor(made: Awaited<ReturnType<typeof channelLines>>) {
    this.lines = made.lines;
    this.account = made.account;
  }

  static async start(): Promise<ChannelProviders> {
    return new ChannelProviders(await channelLines());
  }

  get settings(): Record<string, string> {
    const [, telegram = '', slack = '', zalo = ''] = this.lines.map(({ provider }) => provider.url);
    return {
      ...{ TELEGRAM_API_URL: telegram, SLACK_API_URL: slack, ZALO_API_URL: zalo, ZALO_OAUTH_URL: zalo },
      PUBLIC_URL: 'http://127.0.0.1',
    };
  }

  async stop(): Promise<void> {
    for (const { provider } of this.lines) await provider.stop();
  }
}

/** People who write by a channel of each type. */
export class ChannelPeople {
  readonly #chaos: ChaosSystem;
  readonly #tenant: TenantAccess;
  readonly #random: Random;
  readonly #lines: readonly ChannelLine[];
  readonly #channels = new Map<ChannelLine, MadeChannel>();

  private constructor(
    chaos: ChaosSystem,
    parts: { tenant: TenantAccess; random: Random; lines: readonly ChannelLine[] },
  ) {
    this.#chaos = chaos;
    this.#tenant = parts.tenant;
    this.#random = parts.random;
    this.#lines = parts.lines;
  }

  static async prepare(
    chaos: ChaosSystem,
    providers: ChannelProviders,
    random: Random,
  ): Promise<ChannelPeople> {
    const tenant = await chaos.makeTenant();
    const people = new ChannelPeople(chaos, { tenant, random, lines: providers.lines });
    const { id: agent_id } = await people.#post('/v1/agents', { key: 'support', model: 'gpt-4.1-mini' });
    for (const line of providers.lines) {
      const body = { name: line.type, agent_id, type: line.type, ...line.fields };
      people.#channels.set(line, await people.#post('/v1/channels/instances', body));
    }
    await people.#consent(providers.account);
    return people;
  }

  /** From now on, this share of replies meets a limit or a failure of its provider. */
  trouble(share: number): void {
    for (const { provider, trouble } of this.#lines)
      provider.trouble = () => (this.#random.next() < share ? trouble : null);
  }

  /** Lets people write, each so many messages; resolves when all are accepted. */
  async write(people: People, count: number, paceMs: number): Promise<Delivered[]> {
    const [first, end] = people;
    const written = await Promise.all(
      Array.from({ length: end - first }, (_, n) => this.#writeAs(first + n, count, paceMs)),
    );
    this.#chaos.mark('all messages are accepted');
    return written.flat();
  }

  /** Resolves when nothing waits: neither a message nor a reply. */
  async untilAnswered(): Promise<void> {
    await this.#chaos.within(answeredWithinMs, 'every message is answered', async () => {
      const [open] = await this.#chaos.rows<{ count: string }>(
        `select (select count(*) from webhook.channel_turns)
              + (select count(*) from webhook.channel_messages where status in ('received', 'queued')) as count`,
      );
      return open?.count === '0';
    });
  }

  /** Replies that providers have taken, with those that came twice. */
  heard(people: People): Heard[] {
    return this.#lines.flatMap((line) => line.heard()).filter((each) => isOf(people, each));
  }

  /** The replies to some people, each once. */
  repliesTo(people: People): { person: number; said: string[] }[] {
    return this.#lines.flatMap((line) => {
      const known = new Set<string>();
      return line
        .heard()
        .filter((heard) => isOf(people, heard))
        .filter(({ id, person, text }) => {
          const key = id ?? `${person} ${answered(text).join()}`;
          return !known.has(key) && known.add(key);
        })
        .map(({ person, text }) => ({ person, said: answered(text) }));
    });
  }

  /** Each message is answered in one reply, and none before one that was accepted before it was sent. */
  expectOrder(all: readonly Delivered[], people: People): void {
    const byName = new Map(all.map((each) => [`p${each.person}m${each.place}`, each]));
    const replies = this.repliesTo(people);
    const saidInAll = replies.flatMap(({ said }) => said);
    expect(saidInAll.toSorted()).toEqual([...byName.keys()].toSorted());
    const overtaken: string[] = [];
    for (const [, ofPerson] of Map.groupBy(replies, ({ person }) => person)) {
      const order = ofPerson.flatMap(({ said }) => said.map((name) => byName.get(name)));
      for (const [index, later] of order.entries())
        for (const earlier of order.slice(0, index))
          if (later !== undefined && earlier !== undefined && later.acceptedAt < earlier.sentAt)
            overtaken.push(`${earlier.text} before ${later.text}`);
      for (const { said } of ofPerson) {
        const places = said.map((name) => byName.get(name)).map((each) => each?.place ?? -1);
        const isOrdered = byName.get(said[0] ?? '')?.line.ordered === true;
        if (isOrdered && places.some((place, index) => index > 0 && place < (places[index - 1] ?? 0)))
          overtaken.push(`within a turn: ${said.join()}`);
      }
    }
    expect(overtaken).toEqual([]);
  }

  /** Every message belongs to one turn, and every turn is one completed run. */
  async expectRuns(all: readonly Delivered[]): Promise<void> {
    expect(all.filter(({ ids }) => ids.size !== 1)).toEqual([]);
    const ids = all.flatMap((each) => [...each.ids]);
    const rows = await this.#chaos.rows<{ status: string; turn: string; run: string }>(
      `select distinct status, turn_id as turn, run_id as run from webhook.channel_messages where id = any ($1)`,
      [ids],
    );
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['answered']));
    expect(new Set(rows.map(({ run }) => run)).size).toBe(rows.length);
    expect(new Set(rows.map(({ turn }) => turn)).size).toBe(rows.length);
    await untilRunsEnded(this.#chaos);
    const runs = await this.#chaos.rows<{ id: string }>(
      `select id from analytics.traces where tenant_id = $1 and channel = any ($2) and status = 'ok'`,
      [this.#tenant.id, this.#lines.map(({ type }) => type)],
    );
    const answering = await this.#chaos.rows<{ run: string }>(
      `select distinct run_id as run from webhook.channel_messages where direction = 'in'`,
    );
    expect(runs.map(({ id }) => id).toSorted()).toEqual(answering.map(({ run }) => run).toSorted());
  }

  async #post<Made = MadeChannel>(path: string, body: object): Promise<Made> {
    const response = await fetch(this.#chaos.credentials.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#tenant.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
    return (await response.json()) as Made;
  }

  /** Connects the Official Account, as its owner does in a browser. */
  async #consent(account: ChannelProviders['account']): Promise<void> {
    const channel = [...this.#channels.values()].at(-1);
    const links = `/v1/channels/instances/${channel?.id ?? ''}/zalo-oa/consent-links`;
    const { url } = await this.#post<{ url: string }>(links, {});
    const { pathname, search } = new URL(url);
    const gateway = this.#chaos.credentials.url;
    const pressed = await fetch(gateway + pathname + search, {
      method: 'POST',
      redirect: 'manual',
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    const cookie = pressed.headers.get('set-cookie')?.split(';')[0] ?? '';
    const query = account.consent(pressed.headers.get('location') ?? '');
    const back = await fetch(`${gateway}/v1/channels/zalo-oa/callback?${query}`, { headers: { cookie } });
    expect(back.status).toBe(200);
  }

  /** One request as a provider makes it; returns the id of the message, or null if it is to be repeated. */
  async #deliver(line: ChannelLine, said: Said, repeat: number): Promise<string | null> {
    const channel = this.#channels.get(line) ?? { id: '', secret: '' };
    const { headers, body } = line.request(channel, said, repeat);
    const url = `${this.#chaos.credentials.url}/v1/webhooks/message?channel=${channel.id}`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    }).catch(() => null);
    if (response === null) return null;
    const text = await response.text();
    if (response.status !== 200 && response.status !== 202) {
      expect([502, 503, 504]).toContain(response.status);
      return null;
    }
    return (JSON.parse(text) as { message_id: string }).message_id;
  }

  async #deliverUntilAccepted(delivered: Delivered, firstRepeat: number): Promise<void> {
    let id: string | null = null;
    for (let repeat = firstRepeat; id === null; repeat += 1) {
      id = await this.#deliver(delivered.line, delivered, repeat);
      if (id === null) await sleep(200);
    }
    delivered.acceptedAt = Math.min(delivered.acceptedAt, performance.now());
    delivered.ids.add(id);
  }

  /** Lets one person write: in order, save that two messages in a row overtake each other at times; half come again. */
  async #writeAs(person: number, count: number, paceMs: number): Promise<Delivered[]> {
    const random = this.#random;
    const line = this.#lines[person % this.#lines.length];
    if (line === undefined) throw new Error('there is no line');
    const all: Delivered[] = [];
    const repeats: Promise<void>[] = [];
    while (all.length < count) {
      const together = Array.from({ length: Math.min(random.between(1, 3), count - all.length) }, (_, n) => {
        const place = all.length + n;
        const text = `p${person}m${place} end`;
        return {
          ...{ person, place, text, line },
          ...{ sentAt: performance.now(), acceptedAt: Infinity, ids: new Set<string>() },
        };
      });
      all.push(...together);
      await Promise.all(random.shuffle(together).map((each) => this.#deliverUntilAccepted(each, 0)));
      const again = together.filter(() => random.next() < 0.5);
      repeats.push(
        ...again.map(async (each) => {
          await sleep(random.between(0, 3_000));
          await this.#deliverUntilAccepted(each, random.between(0, 2));
        }),
      );
      await sleep(random.between(0, 2 * paceMs));
    }
    await Promise.all(repeats);
    return all;
  }
}

/** Waits until every run has its end, and the end is published. */
export async function untilRunsEnded(chaos: ChaosSystem): Promise<void> {
  await chaos.within(60_000, 'every run has its end', async () => {
    const open = await chaos.rows('select 1 from chat.runs_under_way');
    const unpublished = await chaos.rows(
      'select 1 from chat.logged_runs where ending is not null union all select 1 from chat.outbox',
    );
    return open.length + unpublished.length === 0;
  });
}
