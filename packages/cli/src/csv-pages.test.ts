import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type OutgoingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CommandLine, type Ran } from '@gatehouse/test/command-line';

interface Page {
  text: string;
  headers?: OutgoingHttpHeaders;
  status?: number;
  /** Whether the connection breaks before the end. */
  isCut?: true;
}

let person: CommandLine;
let server: Server;
let pages: Page[];
let asked: string[];

const next = (query: string) => ({ link: `</v1/agents?${query}>; rel="next"` });

beforeEach(async () => {
  [asked, pages] = [[], []];
  server = createServer(({ url, headers }, response) => {
    asked.push(`${headers.accept ?? ''} ${String(headers['x-service-user-id'])} ${url ?? ''}`);
    const { text, headers: own, status = 200, isCut } = pages.shift() ?? { text: '' };
    const length = { 'content-length': Buffer.byteLength(text) + (isCut === true ? 9 : 0) };
    response.writeHead(status, { 'content-type': 'text/csv; charset=utf-8', ...length, ...own });
    response.write(text, () => {
      if (isCut === true) response.destroy();
      else response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  person = await CommandLine.make();
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await person.remove();
});

function run(line: string): Promise<Ran> {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return person.run(line.split(' '), { environment: { GATEHOUSE_URL: url, GATEHOUSE_API_KEY: 'k' } });
}

it('follows the links to the last page, and writes the names of columns once', async () => {
  pages = [
    { text: 'id,name\r\n1,"two\r\nlines é"\r\n', headers: next('status=active&limit=200&cursor=a%2Bb') },
    { text: 'id,name\r\n', headers: next('cursor=c') },
    { text: 'id,name\r\n3,x\r\n' },
  ];
  const { code, out, error } = await run('agents list --csv --status active --as-user ada');
  expect([code, out, error]).toEqual([0, 'id,name\r\n1,"two\r\nlines é"\r\n3,x\r\n', '']);
  expect(asked).toEqual([
    'text/csv ada /v1/agents?limit=200&status=active',
    'text/csv ada /v1/agents?status=active&limit=200&cursor=a%2Bb',
    'text/csv ada /v1/agents?cursor=c',
  ]);
});

it('marks of UTF-8 are left out, whichever pages have them', async () => {
  pages = [
    { text: '\ufeffid\r\n1\r\n', headers: next('cursor=a') },
    { text: 'id\r\n2\r\n', headers: next('cursor=b') },
    { text: '\ufeffid\r\n3\r\n' },
  ];
  expect(await run('agents list --csv')).toEqual({ code: 0, out: 'id\r\n1\r\n2\r\n3\r\n', error: '' });
});

it('a file appears when it has all pages', async () => {
  const file = path.join(person.folder, 'agents.csv');
  pages = [{ text: 'id\r\n1\r\n', headers: next('cursor=a') }, { text: 'id\r\n2\r\n' }];
  expect(await run(`agents list --csv --out ${file} --limit 1`)).toEqual({ code: 0, out: '', error: '' });
  expect(await readFile(file, 'utf8')).toBe('id\r\n1\r\n2\r\n');
  expect(asked[0]).toContain('/v1/agents?limit=1');
});

const first: Page = { text: 'id\r\n1\r\n', headers: next('cursor=a') };

it.each<[string, Page[], string]>([
  ['is cut off', [first, { text: 'id\r\n2', isCut: true }], 'cut off'],
  ['has other columns', [first, { text: 'id,name\r\n2,x\r\n' }], 'columns are not those'],
  [
    'is an error',
    [first, { text: '{"error":{"code":"invalid_cursor","message":"No."}}', status: 400 }],
    'invalid_cursor: No.',
  ],
  [
    'is JSON, of an older release',
    [{ text: '{}', headers: { 'content-type': 'application/json' } }],
    'does not answer with CSV',
  ],
  ['leads to another list', [{ ...first, headers: { link: '</v1/api-keys>; rel="next"' } }], 'another list'],
  [
    'leads elsewhere',
    [{ ...first, headers: { link: '<//a.example/v1/agents>; rel="next"' } }],
    'another list',
  ],
])('leaves no file when a page %s', async (_name, given, reason) => {
  pages = [...given];
  const { code, error } = await run(`agents list --csv --out ${path.join(person.folder, 'agents.csv')}`);
  expect([code, error]).toEqual([1, expect.stringContaining(reason)]);
  expect(await readdir(person.folder)).toEqual([]);
});

it.each([
  ['agents list --csv --json', '--csv and --json exclude each other'],
  ['agents list --out agents.csv', '--out goes with --csv'],
  ['agents get a --csv', "unknown option '--csv'"],
  ['files list --csv', "unknown option '--csv'"],
])('%s is no command', async (line, reason) => {
  const { code, error } = await run(line);
  expect([code, error]).toEqual([2, expect.stringContaining(reason)]);
  expect(asked).toEqual([]);
});

it('its help shows how', async () => {
  const { out } = await run('webhooks endpoints calls --help');
  expect(out).toMatch(/--csv +all pages as CSV/);
  expect(out).toContain('gatehouse webhooks endpoints calls ID --csv --out FILE');
});
