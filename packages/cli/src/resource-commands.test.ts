import { once, type EventEmitter } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CommandLine } from '@gatehouse/test/command-line';
import type { Command } from 'commander';
import { parse } from 'yaml';
import { programOf, withAll } from './cli.ts';
import { Context } from './context.ts';
import { operations } from './known-operations.ts';

let person: CommandLine;
let server: Server;
/** The requests that came, each with the key. */
let asked: string[];
let bodies: string[];
let answer: string;
beforeEach(async () => {
  asked = [];
  bodies = [];
  answer = 'day,cost\n';
  server = createServer((request, response) => {
    asked.push(`${request.headers.authorization ?? ''} ${request.url ?? ''}`);
    void text(request).then((body) => {
      bodies.push(body);
      response.end(answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  person = await CommandLine.make();
  const profiles = { first: { url, key: 'one' }, second: { url, key: 'two' } };
  await mkdir(path.dirname(person.profiles));
  await writeFile(person.profiles, JSON.stringify({ current: 'first', profiles }), { mode: 0o600 });
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await person.remove();
});

it.each([
  ['before', 'costs --profile second --from 2026-11-01T00:00:00Z export', 'two', '2026-11-01'],
  ['behind', 'costs export --profile second --from 2026-11-01T00:00:00Z', 'two', '2026-11-01'],
  [
    'before and behind, which counts,',
    'costs --profile first --from 2026-10-01T00:00:00Z export --profile second --from 2026-11-01T00:00:00Z',
    ...['two', '2026-11-01'],
  ],
  [
    'before all names or behind',
    '--profile second costs --from 2026-11-01T00:00:00Z export',
    ...['two', '2026-11-01'],
  ],
])('an export takes options %s its name', async (_name, line, key, from) => {
  const { code, out } = await person.run(line.split(' '));
  expect([code, out]).toEqual([0, 'day,cost\n']);
  expect(asked).toEqual([`Bearer ${key} /v1/costs/export?from=${from}T00%3A00%3A00Z`]);
});

it.each([
  ['owner usage --profile second --by tenant', '/internal/v1/owner/usage/summary?group_by=tenant'],
  ['owner --profile second costs', '/internal/v1/owner/costs/summary'],
  ['owner usage summary --profile second', '/internal/v1/owner/usage/summary'],
  ['agents --profile second list', '/v1/agents'],
])('%s takes the shared options', async (line, path) => {
  answer = '{"data": [], "groups": []}';
  const { code, error } = await person.run(line.split(' '));
  expect([code, error]).toEqual([0, '']);
  expect(asked).toEqual([`Bearer two ${path}`]);
});

it.each([
  ['channels list --json', '/v1/channels/instances'],
  ['channels instances list --json', '/v1/channels/instances'],
  ['channels get abc --json', '/v1/channels/instances/abc'],
  ['browser list --json', '/v1/browser/cookies'],
  ['memory list clerk --json', '/v1/agents/clerk/memory/documents'],
])('%s asks for %s', async (line, path) => {
  await person.run(line.split(' '));
  expect(asked).toEqual([`Bearer one ${path}`]);
});

it.each(['webhooks list', 'mcp list', 'owner list', 'kg upsert clerk'])(
  '%s could mean several resources, or one that has no list, and is no command',
  async (line) => {
    const { code, error } = await person.run(line.split(' '));
    expect([code, error]).toEqual([2, expect.stringContaining('unknown command')]);
    expect(asked).toEqual([]);
  },
);

it('a group shows its short forms in its help, and completes them', async () => {
  const { out } = await person.run(['channels', '--help']);
  expect(out).toMatch(/list \[options\] +short for: channels instances list/);
  const { out: help } = await person.run(['channels', 'create', '--help']);
  expect(help).toContain('gatehouse channels instances create --type');
  const { out: words } = await person.run(['complete-words', '--', 'channels', 'l']);
  expect(words).toBe('list\n');
});

it('the profile may stand before any command', async () => {
  const { code, out, error } = await person.run(['--profile', 'third', 'chat', '-m', 'm', 'hello']);
  expect([code, out]).toEqual([2, '']);
  expect(error).toContain('There is no profile "third".');
});

it('an export takes none of its parent that it would leave out', async () => {
  const { code, error } = await person.run(['costs', '--by', 'day', 'export']);
  expect([code, error]).toEqual([2, `--by stands before "export", which doesn't have it.\n`]);
  expect(asked).toEqual([]);
});

it.each([['usage'], ['costs']])(
  '%s has the filters, defaults and descriptions of the contract',
  async (report) => {
    const { out } = await person.run([report, '--help']);
    for (const text of [
      '--timezone <text>',
      'IANA time zone of days and months; default: UTC',
      '--compare <text>',
    ])
      expect(out.replaceAll(/\s+/g, ' ')).toContain(text);
    await person.run([report, '--by', 'day,model', '--agent', 'abc', '--dialect', 'messages', '--json']);
    expect(asked).toEqual([
      `Bearer one /v1/${report}/summary?agent_id=abc&dialect=messages&group_by=day%2Cmodel`,
    ]);
  },
);

it('a file that cannot be used is one sentence', async () => {
  const folder = await person.run(['agents', 'create', '--file', path.dirname(person.profiles)]);
  expect([folder.code, folder.error]).toEqual([2, expect.stringMatching(/^[^\n]*EISDIR\n$/)]);
});

it('a deletion asks first, and is refused without a terminal', async () => {
  const line = ['agents', 'delete', 'clerk'];
  const questions: string[] = [];
  const confirm = (answer: boolean) => (question: string) => {
    questions.push(question);
    return answer;
  };
  expect(await person.run(line, { confirm: confirm(false) })).toMatchObject({
    code: 2,
    error: 'Nothing was deleted\n',
  });
  expect(await person.run(line)).toMatchObject({ code: 2, error: expect.stringContaining('--yes') });
  expect(asked).toEqual([]);
  answer = '';
  expect(await person.run(line, { confirm: confirm(true) })).toEqual({
    ...{ code: 0, out: 'Deleted agents clerk.\n', error: '' },
  });
  expect((await person.run([...line, '--yes', '--json'])).out).toBe('');
  asked.pop();
  expect((await person.run([...line, '--dry-run', 'true'])).out).toBe('Would delete agents clerk.\n');
  expect((await person.run([...line, '--dry-run'])).out).toBe('Would delete agents clerk.\n');
  const [id = '', ...words] = [...line].reverse();
  expect((await person.run([...words.reverse(), '--dry-run', id])).out).toBe('Would delete agents clerk.\n');
  for (const request of asked.splice(-3)) expect(request).toContain('?dry_run=true');
  await person.run([...line, '--yes'], { confirm: confirm(false) });
  expect(asked).toEqual(Array.from({ length: 2 }, () => 'Bearer one /v1/agents/clerk'));
  expect(questions).toEqual(Array.from({ length: 2 }, () => 'Delete agents clerk?'));
});

it.each([
  ['chat,agents.read', ['chat', 'agents.read']],
  ['["chat", "agents.read"]', ['chat', 'agents.read']],
  ['[chat, agents.read]', ['chat', 'agents.read']],
  ['- chat\n- agents.read\n', ['chat', 'agents.read']],
  ['[]', []],
])('a list may be %j', async (scopes, expected) => {
  await person.run(['api-keys', 'create', '--name', 'ci', '--role', 'user', '--scopes', scopes]);
  expect(JSON.parse(bodies[0] ?? '')).toEqual({ name: 'ci', role: 'user', scopes: expected });
});

it.each(['[chat', '[1, 2]', '[{a: b}]'])('%s is no list of texts', async (scopes) => {
  const line = ['api-keys', 'create', '--name', 'ci', '--role', 'user', '--scopes', scopes];
  expect(await person.run(line)).toMatchObject({ code: 2, error: expect.stringContaining('--scopes') });
});

it.each(['--output yaml', '-o yaml', '--output=yaml', '--output json', '--json'])(
  '%s is for programs, with all errors',
  async (option) => {
    answer = '{"data":[{"id":"1","limits":{"rpm":null}}],"next_cursor":null}';
    const { out } = await person.run(['agents', 'list', ...option.split(' ')]);
    expect(parse(out)).toEqual(JSON.parse(answer));
    server.closeAllConnections();
    server.close();
    const { error } = await person.run(['agents', 'list', ...option.split(' ')]);
    expect(JSON.parse(error)).toMatchObject({ error: { code: 'unreachable' } });
  },
);

it.each([
  ['costs --from 2026-11-01 --timezone Europe/Berlin', '2026-10-31T23:00:00.000Z'],
  ['traces list --from 2026-11-01', '2026-11-01T00:00:00.000Z'],
  ['owner audit-log list --since 2026-11-01', '2026-11-01T00:00:00.000Z'],
  ['costs --since 2026-11-01 export', '2026-11-01T00:00:00.000Z'],
])('%s begins at %s', async (line, expected) => {
  await person.run([...line.split(' '), '--output', 'json']);
  await person.run(line.split(' '));
  const query = new URLSearchParams(asked.at(-1)?.split('?')[1]);
  expect(query.get('from')).toBe(expected);
});

it('--since 7d is a week ago, and excludes --from', async () => {
  const begin = Date.now();
  await person.run(['usage', '--since', '7d', '--json']);
  const from = Date.parse(new URLSearchParams(asked[0]?.split('?')[1]).get('from') ?? '');
  expect(from - (begin - 7 * 86_400_000)).toBeGreaterThanOrEqual(0);
  expect(from).toBeLessThanOrEqual(Date.now() - 7 * 86_400_000);
  const unknown = await person.run(['costs', '--since', 'tomorrow']);
  expect([unknown.code, unknown.error]).toEqual([2, expect.stringContaining('--since takes 7d')]);
  const both = await person.run(['usage', '--since', '7d', '--from', '2026-11-01']);
  expect([both.code, both.error]).toEqual([2, expect.stringContaining('--from')]);
  const wrong = await person.run(['traces', 'follow', '--since', 'tomorrow']);
  expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining('--since takes 7d')]);
  expect(asked).toHaveLength(1);
});

it('a time of a body lies ahead', async () => {
  const line = 'api-keys create --name ci --role user --expires-at';
  await person.run([...line.split(' '), '90d']);
  await person.run([...line.split(' '), '2099-01-01']);
  const [relative, date] = bodies.map((body) => (JSON.parse(body) as { expires_at: string }).expires_at);
  expect(Date.parse(relative ?? '')).toBeGreaterThan(Date.now() + 89 * 86_400_000);
  expect(date).toBe('2099-01-01T00:00:00.000Z');
});

it('profiles are listed and chosen; a logout makes no other one active', async () => {
  const [url] = [
    (JSON.parse(await readFile(person.profiles, 'utf8')) as { profiles: { first: { url: string } } }).profiles
      .first.url,
  ];
  const list = async () => parse((await person.run(['profile', 'list', '-o', 'yaml'])).out) as object;
  expect(await list()).toEqual({
    data: [
      { name: 'first', url, active: true, key_expires_at: null },
      { name: 'second', url, active: false, key_expires_at: null },
    ],
  });
  expect(await person.run(['profile', 'use', 'second'])).toMatchObject({
    out: `The active profile is "second" (${url}).\n`,
  });
  await person.run(['agents', 'list']);
  expect(asked).toEqual(['Bearer two /v1/agents']);
  expect(await person.run(['profile', 'use', 'third'])).toMatchObject({
    code: 2,
    error: expect.stringContaining('There are: first, second'),
  });
  await person.run(['logout']);
  const { code, error } = await person.run(['agents', 'list']);
  expect([code, error]).toEqual([
    2,
    expect.stringContaining('There is no profile "second". There are: first'),
  ]);
});

it.each([
  ['profile', 'list\nuse\n'],
  ['profile use', 'first\nsecond\n'],
  ['agents list --profile', 'first\nsecond\n'],
  ['agents list --output', 'table\njson\nyaml\n'],
])('%s is completed', async (words, expected) => {
  expect((await person.run(['complete-words', '--', ...words.split(' '), ''])).out).toBe(expected);
});

it.each(['pl', 'di', 'exp', 'prof'])('the new commands are completed: %s', async (start) => {
  expect((await person.run(['complete-words', '--', start])).out).toMatch(/^(plan|diff|export|profile)\n$/);
});

/** Its types leave out its base class. */
const listenersOf = (command: Command) => command as unknown as EventEmitter;

it('the help of every command has an example', async () => {
  const context = new Context({
    ...{ environment: {}, stdin: Readable.from([]), isTerminal: false, version: 'test' },
    ...{ write: () => undefined, open: () => undefined, signal: new AbortController().signal },
    ...{ drain: () => Promise.resolve(), confirm: () => Promise.resolve(null) },
  });
  const without = withAll(programOf(context, operations, () => undefined)).filter(
    (command) => command.commands.length === 0 && listenersOf(command).listenerCount('afterHelp') === 0,
  );
  expect(without.map((command) => command.name())).toEqual(['complete-words']);
  expect((await person.run(['agents', 'list', '--help'])).out).toContain(
    'Examples:\n  gatehouse agents list',
  );
});

it('the name of a group with one thing to get does so', async () => {
  answer = '{"timezone": "UTC"}';
  for (const words of [['limits'], ['limits', 'get'], ['tenant', 'settings']])
    expect((await person.run(words)).out).toMatch(/timezone +UTC/);
  expect(asked.map((request) => request.split(' ').at(-1))).toEqual([
    '/v1/limits',
    '/v1/limits',
    '/v1/tenant/settings',
  ]);
});
