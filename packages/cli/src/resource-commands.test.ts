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
