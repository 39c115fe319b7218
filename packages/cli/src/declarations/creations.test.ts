import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CommandLine, type Ran } from '@gatehouse/test/command-line';

/** Creations of API keys and endpoints that fail in the middle, at a gateway with answers by idempotency keys. */

interface Thing {
  id: string;
  name: string;
  created_at: string;
  status?: string;
}

let person: CommandLine;
let server: Server;
let things: Record<string, Thing[]>;
/** Members and answers of creations, by their keys. */
let answers: Map<string, { members: string; answer: object }>;
/** The outcome of the next creations; all others succeed. `made`: made, and the answer is lost. */
let outcomes: ('done' | 'made' | 401 | 429 | 503)[];
let secrets: string;

beforeEach(async () => {
  things = {
    '/v1/api-keys': [],
    '/v1/webhooks/endpoints': [],
    '/v1/agents': [{ ...thing('a'), key: 'a' } as Thing],
  };
  answers = new Map();
  outcomes = [];
  server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '' } = request;
      const { pathname, searchParams } = new URL(url, 'http://gateway');
      const [list, id] = pathname.startsWith('/v1/webhooks')
        ? [pathname.slice(0, 22), pathname.split('/')[4]]
        : [`/v1/${pathname.split('/')[2] ?? ''}`, pathname.split('/')[3]];
      const there = things[list] ?? [];
      const reply = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
      const refuse = (status: number) => reply(status, { error: { code: `http_${status}`, message: 'No.' } });
      if (method === 'GET') {
        const found = there.find((each) => each.id === id);
        if (id === undefined) return reply(200, { data: there });
        return found === undefined ? refuse(404) : reply(200, found);
      }
      const { name, ...members } = (await json(request)) as { name: string };
      if (searchParams.has('dry_run')) return reply(201, {});
      const idempotencyKey = String(request.headers['idempotency-key']);
      const outcome = outcomes.shift();
      if (typeof outcome === 'number') return refuse(outcome);
      const known = answers.get(idempotencyKey);
      const sent = JSON.stringify({ name, ...members });
      if (known !== undefined && known.members !== sent)
        return reply(409, { error: { code: 'idempotency_key_reused', message: 'No.' } });
      if (known !== undefined) return reply(201, known.answer);
      const made = { ...members, ...thing(name) };
      there.push(made);
      const answer = { ...made, key: `key-of-${made.id}`, secret: `secret-of-${made.id}` };
      answers.set(idempotencyKey, { members: sent, answer });
      return outcome === 'made' ? refuse(503) : reply(201, answer);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  person = await CommandLine.make();
  secrets = path.join(person.folder, 'secrets.jsonl');
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await person.remove();
});

let number = 0;
function thing(name: string): Thing {
  number += 1;
  return { id: `id-${number}`, name, created_at: new Date().toISOString() };
}

const both = `endpoints: [{ name: Alerts, agent: a }]
api_keys: [{ name: ci }]
`;

function apply(input = both): Promise<Ran> {
  const { port } = server.address() as AddressInfo;
  const environment = { GATEHOUSE_URL: `http://127.0.0.1:${port}`, GATEHOUSE_API_KEY: 'one' };
  return person.run(['apply', '-f', '-', '--secrets-file', secrets], { input, environment });
}

const names = (list: string): string[] => (things[list] ?? []).map(({ name }) => name);
const kept = async (): Promise<string[]> =>
  [...(await readFile(secrets, 'utf8')).matchAll(/"(?:key|secret)":"([^"]+)"/g)].map(([, text = '']) => text);
/** As if the creations in the file were a day older. */
async function nextDay(): Promise<void> {
  const yesterday = new Date(Date.now() - 86_400_000).toISOString();
  const text = await readFile(secrets, 'utf8');
  await writeFile(secrets, text.replaceAll(/"at":"[^"]+"/g, `"at":"${yesterday}"`));
  for (const list of Object.values(things)) for (const each of list) each.created_at = yesterday;
  answers.clear();
}

it.each([429, 503] as const)(
  'what %i has refused is made once by the next command, also a day later',
  async (status) => {
    outcomes = Array.from({ length: 4 }, () => status);
    const refused = await apply();
    expect(refused.code).toBe(1);
    expect(names('/v1/webhooks/endpoints')).toEqual([]);
    expect((await apply()).out).toBe('+ created endpoints Alerts\n+ created api_keys ci\n');
    expect(await apply()).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
    await nextDay();
    expect(await apply()).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
    expect([names('/v1/webhooks/endpoints'), names('/v1/api-keys')]).toEqual([['Alerts'], ['ci']]);
    expect(await kept()).toHaveLength(2);
  },
  60_000,
);

it('a creation that was refused for long is sent again as a new one', async () => {
  outcomes = Array.from({ length: 4 }, () => 429 as const);
  await apply();
  await nextDay();
  expect((await apply()).out).toBe('+ created endpoints Alerts\n+ created api_keys ci\n');
  expect(names('/v1/webhooks/endpoints')).toEqual(['Alerts']);
});

it('the secrets of a thing with a lost answer come with the next command', async () => {
  outcomes = ['made', 503, 503, 503];
  const { code, error } = await apply();
  expect([code, error]).toEqual([
    1,
    expect.stringContaining(
      'It is not known whether this change was made. The next apply does what is left.\n',
    ),
  ]);
  expect((await apply()).out).toBe('+ created api_keys ci\n');
  expect(names('/v1/webhooks/endpoints')).toEqual(['Alerts']);
  const [endpoint] = things['/v1/webhooks/endpoints'] ?? [];
  expect(await kept()).toContain(`secret-of-${endpoint?.id ?? ''}`);
});

it('secrets that can’t be fetched after a day are reported once, and nothing is made twice', async () => {
  outcomes = ['made', 503, 503, 503];
  await apply();
  await nextDay();
  const { code, out, error } = await apply();
  expect([code, out]).toEqual([1, '+ created api_keys ci\n']);
  expect(error).toMatch(
    /^standard input:1: endpoints Alerts: secrets_lost: It exists \(id-\d+\), but its secrets did not arrive/,
  );
  expect(error).toContain('\nChanged: created api_keys ci.\n');
  expect(await apply()).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
  expect([names('/v1/webhooks/endpoints'), names('/v1/api-keys')]).toEqual([['Alerts'], ['ci']]);
});

it('what was made and deleted since is made again', async () => {
  outcomes = ['made', 503, 503, 503];
  await apply();
  things['/v1/webhooks/endpoints'] = [];
  expect((await apply()).out).toBe('+ created endpoints Alerts\n+ created api_keys ci\n');
  expect(names('/v1/webhooks/endpoints')).toEqual(['Alerts']);
});

it('a key that was made and revoked since is made again, with the secret of the new one', async () => {
  outcomes = ['done', 'made', 503, 503, 503];
  await apply();
  const [revoked] = things['/v1/api-keys'] ?? [];
  if (revoked !== undefined) revoked.status = 'revoked';
  expect((await apply()).out).toBe('+ created api_keys ci\n');
  const [, made] = things['/v1/api-keys'] ?? [];
  expect(await kept()).toContain(`key-of-${made?.id ?? ''}`);
  expect(await kept()).not.toContain(`key-of-${revoked?.id ?? ''}`);
});

it('a thing made by a late repeat, with a lost answer, has its secrets fetched by the next command', async () => {
  outcomes = Array.from({ length: 4 }, () => 503 as const);
  await apply();
  const hoursAgo = new Date(Date.now() - 2 * 3_600_000).toISOString();
  await writeFile(
    secrets,
    (await readFile(secrets, 'utf8')).replaceAll(/"at":"[^"]+"/g, `"at":"${hoursAgo}"`),
  );
  outcomes = ['made', 503, 503, 503];
  await apply();
  expect(await apply()).toMatchObject({ code: 0, out: '+ created api_keys ci\n' });
  expect(await kept()).toContain(`secret-of-${things['/v1/webhooks/endpoints']?.[0]?.id ?? ''}`);
});

it('a declaration edited before its secrets arrived stops with the way to fetch them', async () => {
  outcomes = ['made', 503, 503, 503];
  await apply();
  const { code, error } = await apply(both.replace('agent: a', 'agent: a, rate_limit: { rpm: 5 }'));
  expect(code).toBe(1);
  expect(error).toMatch(
    /^standard input:1: endpoints Alerts: idempotency_key_reused: .*apply that one first, then the edited one\.\nNothing was changed\.\n$/,
  );
  expect(await apply()).toMatchObject({ code: 0, out: '+ created api_keys ci\n' });
  expect(await kept()).toContain(`secret-of-${things['/v1/webhooks/endpoints']?.[0]?.id ?? ''}`);
});

it('a refusal of the person gives no secrets up', async () => {
  outcomes = ['made', 503, 503, 503, 401];
  await apply();
  expect((await apply()).code).toBe(1);
  expect(await apply()).toMatchObject({ code: 0, out: '+ created api_keys ci\n' });
  expect(await kept()).toHaveLength(2);
});

it('an error names what was changed before it', async () => {
  outcomes = ['done', 429, 429, 429, 429];
  const { error } = await apply(`endpoints:
  - { name: Second, agent: a }
  - { name: Third, agent: a }
`);
  expect(error).toBe(
    'standard input:3: endpoints Third: http_429: No.\nChanged before it: created endpoints Second. The next apply does what is left.\n',
  );
});
