import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import type { TenantAccess } from '@gatehouse/test/tenants';
import { channelLines, type ChannelLine, type Heard, type MadeChannel, type Said } from './channel-lines.ts';
import { ChaosSystem } from './chaos-system.ts';
import { killSome } from './killing.ts';
import { Random } from './random.ts';

const people = 25;
const messages = Number(process.env['CHAOS_MESSAGES'] ?? 1_000);
const kills = 6;
/** A turn under way in a process that dies is taken up again half a minute later. */
const answeredWithinMs = 180_000;

let chaos: ChaosSystem;
let tenant: TenantAccess;
let lines: ChannelLine[];
const channels = new Map<ChannelLine, MadeChannel>();
const random = new Random(18);

beforeAll(async () => {
  const made = await channelLines();
  lines = made.lines;
  const [, telegram, slack, zalo] = lines.map(({ provider }) => provider.url);
  chaos = await ChaosSystem.start({
    ...{ GATEHOUSE_REPLICAS: 'webhook=2,chat=2', EGRESS_ALLOW: '127.0.0.1', LOG_LEVEL: 'error' },
    ...{ TELEGRAM_API_URL: telegram ?? '', SLACK_API_URL: slack ?? '' },
    ...{ ZALO_API_URL: zalo ?? '', ZALO_OAUTH_URL: zalo ?? '', PUBLIC_URL: 'http://127.0.0.1' },
  });
  tenant = await chaos.makeTenant();
  const { id: agent_id } = await post('/v1/agents', { key: 'support', model: 'gpt-4.1-mini' });
  for (const line of lines) {
    const body = { name: line.type, agent_id, type: line.type, ...line.fields };
    channels.set(line, await post('/v1/channels/instances', body));
  }
  await consent(made.account);
});
afterAll(async () => {
  await chaos.stop();
  for (const { provider } of lines) await provider.stop();
});

async function post<Made = MadeChannel>(path: string, body: object): Promise<Made> {
  const response = await fetch(chaos.credentials.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Made;
}

/** Connects the Official Account, as its owner does in a browser. */
async function consent(account: { consent: (location: string) => string }): Promise<void> {
  const channel = [...channels.values()].at(-1);
  const links = `/v1/channels/instances/${channel?.id ?? ''}/zalo-oa/consent-links`;
  const { url } = await post<{ url: string }>(links, {});
  const { pathname, search } = new URL(url);
  const pressed = await fetch(chaos.credentials.url + pathname + search, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
  });
  const cookie = pressed.headers.get('set-cookie')?.split(';')[0] ?? '';
  const query = account.consent(pressed.headers.get('location') ?? '');
  const back = await fetch(`${chaos.credentials.url}/v1/channels/zalo-oa/callback?${query}`, {
    headers: { cookie },
  });
  expect(back.status).toBe(200);
}

/** What became of a message at its sender. */
interface Delivered extends Said {
  line: ChannelLine;
  sentAt: number;
  acceptedAt: number;
  ids: Set<string>;
}

/** One request as a provider makes it; returns the id of the message, or null if it is to be repeated. */
async function deliver(line: ChannelLine, said: Said, repeat: number): Promise<string | null> {
  const channel = channels.get(line) ?? { id: '', secret: '' };
  const { headers, body } = line.request(channel, said, repeat);
  const response = await fetch(`${chaos.credentials.url}/v1/webhooks/message?channel=${channel.id}`, {
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

async function deliverUntilAccepted(delivered: Delivered, firstRepeat: number): Promise<void> {
  let id: string | null = null;
  for (let repeat = firstRepeat; id === null; repeat += 1) {
    id = await deliver(delivered.line, delivered, repeat);
    if (id === null) await sleep(200);
  }
  delivered.acceptedAt = Math.min(delivered.acceptedAt, performance.now());
  delivered.ids.add(id);
}

/** What one person writes: in order, save that two messages in a row overtake each other at times; half come again. */
async function write(person: number, count: number, paceMs: number): Promise<Delivered[]> {
  const line = lines[person % lines.length];
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
    await Promise.all(random.shuffle(together).map((each) => deliverUntilAccepted(each, 0)));
    const again = together.filter(() => random.next() < 0.5);
    repeats.push(
      ...again.map(async (each) => {
        await sleep(random.between(0, 3_000));
        await deliverUntilAccepted(each, random.between(0, 2));
      }),
    );
    await sleep(random.between(0, 2 * paceMs));
  }
  await Promise.all(repeats);
  return all;
}

/** Resolves when nothing waits: neither a message nor a reply. */
async function untilAnswered(): Promise<void> {
  await chaos.within(answeredWithinMs, 'every message is answered', async () => {
    const [open] = await chaos.rows<{ count: string }>(
      `select (select count(*) from webhook.channel_turns)
            + (select count(*) from webhook.channel_messages where status in ('received', 'queued')) as count`,
    );
    return open?.count === '0';
  });
}

const isOf = (range: readonly [number, number], { person }: Heard): boolean =>
  person >= range[0] && person < range[1];
/** The messages that a reply answers, in its order: the simulated model repeats them. */
const answered = (text: string): string[] => text.match(/p\d+m\d+(?= end)/g) ?? [];

/** The replies of some people, each once. */
function repliesTo(range: readonly [number, number]): { person: number; said: string[] }[] {
  return lines.flatMap((line) => {
    const known = new Set<string>();
    return line
      .heard()
      .filter((heard) => isOf(range, heard))
      .filter(({ id, person, text }) => {
        const key = id ?? `${person} ${answered(text).join()}`;
        return !known.has(key) && known.add(key);
      })
      .map(({ person, text }) => ({ person, said: answered(text) }));
  });
}

/** Each message is answered in one reply, and none before one that was accepted before it was sent. */
function expectOrder(all: readonly Delivered[], range: readonly [number, number]): void {
  const byName = new Map(all.map((each) => [`p${each.person}m${each.place}`, each]));
  const replies = repliesTo(range);
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
async function expectRuns(all: readonly Delivered[]): Promise<void> {
  expect(all.filter(({ ids }) => ids.size !== 1)).toEqual([]);
  const ids = all.flatMap((each) => [...each.ids]);
  const rows = await chaos.rows<{ status: string; turn: string; run: string }>(
    `select distinct status, turn_id as turn, run_id as run from webhook.channel_messages where id = any ($1)`,
    [ids],
  );
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['answered']));
  expect(new Set(rows.map(({ run }) => run)).size).toBe(rows.length);
  expect(new Set(rows.map(({ turn }) => turn)).size).toBe(rows.length);
  await chaos.within(60_000, 'every run has its end', async () => {
    const open = await chaos.rows('select 1 from chat.open_runs');
    const unpublished = await chaos.rows('select 1 from chat.outbox');
    return open.length + unpublished.length === 0;
  });
  const runs = await chaos.rows<{ id: string }>(
    `select id from analytics.traces where tenant_id = $1 and channel = any ($2) and status = 'ok'`,
    [tenant.id, lines.map(({ type }) => type)],
  );
  const answering = await chaos.rows<{ run: string }>(
    `select distinct run_id as run from webhook.channel_messages where direction = 'in'`,
  );
  expect(runs.map(({ id }) => id).toSorted()).toEqual(answering.map(({ run }) => run).toSorted());
}

describe('people who write by channels of all types, with repeats, out of order, and providers that limit and fail', () => {
  it(
    'are answered exactly once when nothing is killed',
    () =>
      chaos.explain(async () => {
        const range = [100, 120] as const;
        for (const { provider, trouble } of lines)
          provider.trouble = () => (random.next() < 0.1 ? trouble : null);
        const written = await Promise.all(
          Array.from({ length: range[1] - range[0] }, (_, n) => write(range[0] + n, 10, 300)),
        );
        await untilAnswered();
        const all = written.flat();
        expectOrder(all, range);
        await expectRuns(all);
        const heard = lines.flatMap((line) => line.heard()).filter((each) => isOf(range, each));
        expect(heard).toHaveLength(repliesTo(range).length);
      }),
    240_000,
  );

  it(
    'have each of their messages answered by one completed run, in order, while webhook and chat are killed',
    () =>
      chaos.explain(async () => {
        const range = [1, 1 + people] as const;
        for (const { provider, trouble } of lines)
          provider.trouble = () => (random.next() < 0.02 ? trouble : null);
        const state = { over: false };
        const names = ['webhook-1', 'webhook-2', 'chat-1', 'chat-2'];
        const killing = killSome(chaos, { random, state, kills, names });
        const written = await Promise.all(
          Array.from({ length: people }, (_, n) => write(range[0] + n, messages / people, 900)),
        );
        state.over = true;
        chaos.mark('all messages are accepted');
        expect(await killing).toBeGreaterThanOrEqual(3);
        await untilAnswered();
        const all = written.flat();
        expect(all).toHaveLength(messages);
        expectOrder(all, range);
        await expectRuns(all);
      }),
    420_000,
  );
});
