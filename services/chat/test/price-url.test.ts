import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness } from './chat-harness.ts';

const lines: { msg: string; problems?: string[] }[] = [];
const log = createLogger('chat', 'info', {
  write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]),
});
const reports = (): string[] => lines.flatMap(({ problems = [] }) => problems);

/** A server of lists, whose answers name their content by an ETag. */
class ListServer {
  text = '';
  /** Statuses of the answers with the list. */
  readonly statuses: number[] = [];
  readonly #server: Server;
  #port = 0;

  constructor() {
    this.#server = createServer((request, response) => {
      if (request.url === '/moved.json?t=s3cr3t')
        return response.writeHead(302, { location: '/prices.json' }).end();
      const etag = `"${hash('sha256', this.text)}"`;
      const status = request.headers['if-none-match'] === etag ? 304 : 200;
      this.statuses.push(status);
      return response.writeHead(status, { etag }).end(status === 200 ? this.text : '');
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  put(version: string): void {
    const price = { input_per_mtok: '1', output_per_mtok: '2' };
    this.text = JSON.stringify({ version, prices: { simulator: { small: price } } });
  }
}

const lists = new ListServer();
let harness: ChatHarness;
beforeAll(async () => {
  await lists.start();
  lists.put('v1');
  harness = await ChatHarness.start(
    { log, catalogueEveryMs: 50 },
    {
      models: [{ id: 'small', provider: 'simulator' }],
      embeddings: undefined,
      prices: { url: `${lists.url}/moved.json?t=s3cr3t`, every: '1s' },
    },
  );
});
afterAll(async () => {
  await harness.stop();
  await lists.stop();
});

async function versionAt(url = harness.url) {
  const response = await harness.post('/v1/chat/completions', chat('hello', { model: 'small' }), {
    ...{ principal: { tenantId: newId() }, url },
  });
  await response.arrayBuffer();
  return (await harness.endedRun(response.headers.get('x-run-id'))).price_version;
}
const becomes = (version: string) => eventually(async () => expect(await versionAt()).toBe(version));

it('a list behind a URL is fetched when the process starts, and again where it has changed', async () => {
  expect(await versionAt()).toBe('v1');
  await eventually(() => expect(lists.statuses.slice(-2)).toEqual([304, 304]));
  await harness.rows(
    `insert into chat.price_lists (source, list, kept_at)
     select int4send(n), '{}', now() - n * interval '1 day' from generate_series(1, 30) n`,
  );
  lists.put('v2');
  await becomes('v2');
  expect(lines.map(({ msg }) => msg)).toContain('read the list of prices again');
  expect(lists.statuses.filter((status) => status === 200)).toHaveLength(2);
  const kept = await harness.rows('select list from chat.price_lists order by kept_at desc');
  // Version 0.3.0 reads what follows the first line.
  expect(kept[0]).toEqual({ list: `\n${lists.text}` });
  expect(kept).toHaveLength(20);
});

it('a list that is wrong, too large, or missing is reported, and the one before stays', async () => {
  const name = `${lists.url}/moved.json`;
  lists.text = '{"version": "v3"}';
  const reported = async (problem: string) => {
    await eventually(() => expect(reports()).toContain(problem));
    expect(await versionAt()).toBe('v2');
  };
  await reported(`${name}: prices: Invalid input: expected record, received undefined`);
  lists.text = ' '.repeat(2 * 1024 * 1024 + 1);
  await reported(`${name} can't be fetched: The response of the host is too large.`);
  await lists.stop();
  await reported(`${name} can't be fetched: The host could not be reached.`);
  await eventually(() => {
    const events = harness.alertsOf(null, 'catalogue.invalid').flatMap(({ data }) => data['problems']);
    expect(events).toContain(`${name} can't be fetched: The host could not be reached.`);
  });
  expect(await harness.metrics()).toMatch(/gatehouse_catalogue_reload_failures_total\S* 3\n/);
  expect(JSON.stringify([lines, harness.alertsOf(null, 'catalogue.invalid')])).not.toContain('s3cr3t');
});

it('a replica that starts meanwhile charges by the list that others use, and without one does not start', async () => {
  const replica = await harness.startReplica({ log, catalogueEveryMs: 50 });
  expect(await versionAt(`http://127.0.0.1:${replica.httpPort}`)).toBe('v2');
  const kept = await harness.rows('delete from chat.price_lists returning 1');
  expect(kept).toHaveLength(20);
  await expect(harness.startReplica({ log })).rejects.toThrow(
    "can't be fetched: The host could not be reached.",
  );
  await lists.start();
  lists.put('v4');
  await becomes('v4');
  await eventually(async () => expect(await versionAt(`http://127.0.0.1:${replica.httpPort}`)).toBe('v4'));
});
