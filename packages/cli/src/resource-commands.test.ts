import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CommandLine } from '@gatehouse/test/command-line';

let person: CommandLine;
let server: Server;
/** The requests that came, each with the key. */
let asked: string[];
beforeEach(async () => {
  asked = [];
  server = createServer(({ url, headers }, response) => {
    asked.push(`${headers.authorization ?? ''} ${url ?? ''}`);
    response.end('day,cost\n');
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
  ['channels list --json', '/v1/channels/instances'],
  ['channels instances list --json', '/v1/channels/instances'],
  ['channels get abc --json', '/v1/channels/instances/abc'],
  ['browser list --json', '/v1/browser/cookies'],
  ['memory list clerk --json', '/v1/agents/clerk/memory/documents'],
])('%s asks for %s', async (line, path) => {
  await person.run(line.split(' '));
  expect(asked).toEqual([`Bearer one ${path}`]);
});

it.each(['webhooks list', 'mcp list', 'owner list', 'users delete ada', 'kg upsert clerk'])(
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
  await person.run(line, { confirm: confirm(true) });
  await person.run([...line, '--yes'], { confirm: confirm(false) });
  expect(asked).toEqual(Array.from({ length: 2 }, () => 'Bearer one /v1/agents/clerk'));
  expect(questions).toEqual(Array.from({ length: 2 }, () => 'Delete agents clerk?'));
});
