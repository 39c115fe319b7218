import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { CommandLine, type Ran, type RunSettings } from '@gatehouse/test/command-line';
import { eventually } from '@gatehouse/test/eventually';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
let commandLine: CommandLine;
let folder: string;
beforeAll(async () => {
  gateway = await openGateway();
  tenant = await gateway.makeTenant();
  commandLine = await CommandLine.make();
  ({ folder } = commandLine);
});
afterAll(async () => {
  await commandLine.remove();
  await gateway.stop();
});

const run = (line: readonly string[], settings?: RunSettings): Promise<Ran> =>
  commandLine.run(line, settings);

async function json(line: readonly string[], input?: string): Promise<unknown> {
  const { code, out, error } = await run([...line, '--json'], input === undefined ? {} : { input });
  expect([code, error]).toEqual([0, '']);
  return JSON.parse(out) as unknown;
}

it('a key is kept where only its owner can read it, after it was tried', async () => {
  const wrong = await run(['login', '--url', gateway.url, '--key', 'gwk_wrong']);
  expect([wrong.code, wrong.error]).toEqual([1, expect.stringMatching(/^invalid_api_key: .* \(request /)]);
  expect((await run(['whoami'])).code).toBe(2);

  const { code, out } = await run(['login', '--url', gateway.url, '--key', '-'], {
    input: `${tenant.adminKey}\n`,
  });
  expect([code, out]).toEqual([0, expect.stringContaining(`admin of tenant ${tenant.id}`)]);
  expect(out).not.toContain(tenant.adminKey);
  const { mode } = await stat(path.join(folder, 'gatehouse/profiles.json'));
  expect(mode & 0o777).toBe(0o600);
  expect(await json(['whoami'])).toMatchObject({ role: 'admin', tenant_id: tenant.id });
});

it('another profile and the environment stand in for the current one', async () => {
  const { out } = await run([
    ...['login', '--profile', 'person'],
    ...['--url', gateway.url, '--key', tenant.userKey],
  ]);
  expect(out).toContain('The active profile is still "default". To change it: gatehouse profile use person');
  expect(await json(['whoami'])).toMatchObject({ role: 'admin' });
  expect((await run(['profile', 'use', 'person'])).code).toBe(0);
  expect(await json(['whoami'])).toMatchObject({ role: 'user' });
  expect((await run(['profile', 'list'])).out.split('\n').map((line) => line.split(/ +/))).toEqual([
    ['NAME', 'URL', 'ACTIVE', 'KEY_EXPIRES_AT'],
    ['default', gateway.url, 'false', '-'],
    ['person', gateway.url, 'true', '-'],
    [''],
  ]);
  await run(['login', '--url', gateway.url, '--profile', 'default', '--key', tenant.adminKey]);
  expect(await json(['whoami'])).toMatchObject({ role: 'user' });
  await run(['profile', 'use', 'default']);
  expect(await json(['whoami', '--profile', 'person'])).toMatchObject({ role: 'user' });
  const environment = { GATEHOUSE_URL: gateway.url, GATEHOUSE_API_KEY: gateway.ownerKey };
  expect(JSON.parse((await run(['whoami', '--json'], { environment })).out)).toMatchObject({ role: 'owner' });
});

it('keys are not sent in the clear to another machine', async () => {
  const { code, error } = await run(['login', '--url', 'http://gatehouse.example.com', '--key', 'k']);
  expect([code, error]).toEqual([2, expect.stringContaining('https')]);
});

it('resources are made, listed page by page, changed and deleted', async () => {
  for (const key of ['ann', 'bob', 'cid']) {
    const made = await json([
      'agents',
      'create',
      '--key',
      key,
      '--model',
      'small',
      '--memory',
      '{enabled: true}',
    ]);
    expect(made).toMatchObject({ key, memory: { enabled: true } });
  }
  const page = await run(['agents', 'list', '--limit', '1']);
  expect(page.out).toMatch(/^ID +KEY.*\n.*\nThere are more: --cursor \S+, or --all\n$/);
  const all = (await json(['agents', 'list', '--all', '--limit', '1'])) as { data: object[] };
  expect(all.data).toHaveLength(3);
  const body = 'name: Changed\nstatus: disabled\n';
  const changed = await json(['agents', 'update', 'ann', '--file', '-', '--status', 'active'], body);
  expect(changed).toMatchObject({ name: 'Changed', status: 'active' });
  expect(await run(['agents', 'delete', 'cid'])).toMatchObject({
    code: 2,
    error: expect.stringContaining('--yes'),
  });
  expect((await run(['agents', 'get', 'cid'])).code).toBe(0);
  expect(await run(['agents', 'delete', 'cid', '--yes'])).toEqual({
    ...{ code: 0, out: 'Deleted agents cid.\n', error: '' },
  });
  const gone = await run(['agents', 'get', 'cid', '--json']);
  expect([gone.code, JSON.parse(gone.error)]).toEqual([
    1,
    {
      error: { code: 'not_found', message: expect.any(String), status: 404, request_id: expect.any(String) },
    },
  ]);
});

it.each([
  [['agents', 'creat'], "unknown command 'creat'"],
  [['agents', 'create', '--model', 'm'], 'Missing: --key'],
  [['agents', 'create', '--key', 'a', '--model', 'm', '--visibility', 'all'], 'Allowed choices are'],
  [['agents', 'list', '--limit', 'many'], '--limit takes a number'],
  [['webhooks', 'send', '--endpoint', 'x', '--file', '/dev/null'], 'GATEHOUSE_WEBHOOK_SECRET'],
])('%j is a command that can’t be carried out', async (line, reason) => {
  const { code, out, error } = await run(line);
  expect([code, out, error]).toEqual([2, '', expect.stringContaining(reason)]);
});

it('answers are streamed, in a conversation too, and reports have their runs', async () => {
  const answered = await run(['chat', '-m', 'small', 'Hello', 'there']);
  expect([answered.code, answered.out]).toEqual([0, expect.stringContaining('Hello there')]);
  const talk = await run(['chat', '-m', 'small'], { input: 'First.\nSecond.\n' });
  expect(talk.out).toMatch(/First\.[^]*Second\./);
  const unknown = await run(['chat', '-m', 'no-such-model', 'Hello']);
  expect([unknown.code, unknown.error]).toEqual([1, expect.stringContaining('model_not_found')]);
  await eventually(async () => {
    expect(await json(['usage'])).toMatchObject({ totals: { requests: 3 } });
  });
  const costs = (await json(['costs', '--by', 'model'])) as { total_usd: string };
  expect((await run(['costs', '--by', 'model'])).out).toContain(costs.total_usd);
  expect((await run(['traces', 'follow', '--once'])).out.split('\n')).toHaveLength(4);
});

it('costs are exported to a file or as text, with options of their own', async () => {
  const file = path.join(folder, 'costs.csv');
  const options = ['--group-by', 'model,day', '--from', new Date(Date.now() - 3_600_000).toISOString()];
  const { code, out, error } = await run(['costs', 'export', ...options, '--out', file]);
  expect([code, out, error]).toEqual([0, '', '']);
  const [head, first = ''] = (await readFile(file, 'utf8')).split('\r\n');
  // For Excel.
  expect(head).toMatch(/^\ufeffmodel,day,/);
  expect(first).toMatch(/^small,/);
  const shown = await run(['costs', 'export', ...options, '--bom', 'false']);
  expect(shown.out.split('\r\n')).toEqual([head?.slice(1), first, '']);
  const wrong = await run([
    'costs',
    'export',
    '--format',
    'focus',
    '--group-by',
    'model',
    '--out',
    `${file}.2`,
  ]);
  expect([wrong.code, wrong.error]).toEqual([1, expect.stringMatching(/^invalid_value: .*focus/)]);
  expect((await readdir(folder)).filter((name) => name.startsWith('costs'))).toEqual(['costs.csv']);
});

it('lists are written as CSV, page after page', async () => {
  const { code, out, error } = await run(['agents', 'list', '--csv', '--limit', '1']);
  expect([code, error]).toEqual([0, '']);
  const [names, ...lines] = out.trimEnd().split('\r\n');
  expect(names).toMatch(/^id,key,name,/);
  const keys = ((await json(['agents', 'list', '--all'])) as { data: { key: string }[] }).data.map(
    ({ key }) => key,
  );
  expect(lines.map((line) => line.split(',')[1])).toEqual(keys);
  expect(keys.length).toBeGreaterThan(1);
});

it('documents are put, found, and moved to another agent as lines', async () => {
  await json(['memory', 'put', 'ann', 'notes/key.md', '-'], 'The key is under the mat.');
  expect((await run(['memory', 'search', 'ann', 'where', 'is', 'the', 'key'])).out).toContain('notes/key.md');
  const file = path.join(folder, 'export.jsonl');
  expect((await run(['memory', 'export', 'ann', '--out', file])).code).toBe(0);
  expect(await json(['memory', 'import', 'bob', file])).toMatchObject({ documents: 1 });
  expect((await run(['memory', 'export', 'bob'])).out).toContain('under the mat');
});

it('declarations are carried out once, and drift is shown', async () => {
  const file = path.join(folder, 'declared.yaml');
  const secrets = path.join(folder, 'secrets.jsonl');
  const expires = '2099-01-01T01:00:00+01:00';
  const declare = (model: string) =>
    writeFile(
      file,
      `agents: [{ key: desk, model: ${model}, metadata: { team: ops } }]\n` +
        `endpoints: [{ name: Alerts, agent: desk, mode: sync }]\n` +
        `api_keys: [{ name: ci, role: user, expires_at: '${expires}' }]\n`,
    );
  await declare('small');
  expect((await run(['diff', '-f', file])).code).toBe(3);
  expect(await run(['apply', '-f', file])).toMatchObject({
    code: 2,
    error: expect.stringContaining('--secrets-file'),
  });
  const applied = await run(['apply', '-f', file, '--secrets-file', secrets, '--label', 'shop']);
  expect([applied.code, applied.out.split('\n').filter((line) => line.startsWith('+ created'))]).toEqual([
    0,
    ['+ created agents desk', '+ created endpoints Alerts', '+ created api_keys ci'],
  ]);
  const kept = (await readFile(secrets, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; secrets?: Record<string, string> });
  expect((await stat(secrets)).mode & 0o777).toBe(0o600);
  const [endpoint, key] = kept.filter((line) => 'secrets' in line);
  expect(applied.out).not.toContain(key?.secrets?.['key']);

  expect(await run(['apply', '-f', file])).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
  expect((await run(['diff', '-f', file])).code).toBe(0);
  await json(['agents', 'update', 'desk', '--metadata', '{team: ops, other: 1, gatehouse_label: shop}']);
  expect((await run(['diff', '-f', file])).code).toBe(0);
  await declare('priced');
  expect(await run(['diff', '-f', file])).toMatchObject({
    code: 3,
    out: `~ update agents desk (${file}:1)\n    model: small → priced (line 1)\n`,
  });
  expect((await run(['apply', '-f', file, '--dry-run'])).code).toBe(0);
  expect(await json(['agents', 'get', 'desk'])).toMatchObject({ model: 'small' });
  expect((await run(['apply', '-f', file])).code).toBe(0);
  expect(await json(['agents', 'get', 'desk'])).toMatchObject({ model: 'priced', metadata: { other: 1 } });

  const sent = [
    'webhooks',
    'send',
    '--endpoint',
    endpoint?.id ?? '',
    '--secret',
    endpoint?.secrets?.['secret'] ?? '',
  ];
  expect(await json(sent, '{"input":"Disk full."}')).toMatchObject({
    output: expect.stringContaining('Disk full.'),
  });

  await writeFile(file, `api_keys: [{ name: ci, role: user, expires_at: '${expires}' }]\n`);
  expect((await run(['apply', '-f', file, '--prune', '--label', 'shop'])).out).toBe(
    '- deleted endpoints Alerts\n- deleted agents desk\n',
  );
  // Made by hand, so without the label.
  expect((await run(['agents', 'get', 'ann'])).code).toBe(0);
});

it('the secret of a thing that a killed command has made comes with the next one', async () => {
  const [file, secrets] = [path.join(folder, 'late.yaml'), path.join(folder, 'late.jsonl')];
  await writeFile(file, 'api_keys: [{ name: late, role: user }]\n');
  const headers = { 'idempotency-key': 'k-1' };
  const made = await gateway.call('/v1/api-keys', {
    key: tenant.adminKey,
    headers,
    body: { name: 'late', role: 'user' },
  });
  await writeFile(secrets, `${JSON.stringify({ kind: 'api_keys', name: 'late', pending: 'k-1' })}\n`);
  expect(await run(['apply', '-f', file, '--secrets-file', secrets])).toMatchObject({ code: 0 });
  expect(await readFile(secrets, 'utf8')).toContain((made.body as { key: string }).key);
});

it('a thing that was refused is made by the next command, with what its file has by then', async () => {
  const [file, secrets] = [path.join(folder, 'mended.yaml'), path.join(folder, 'mended.jsonl')];
  const apply = () => run(['apply', '-f', file, '--secrets-file', secrets]);
  await writeFile(file, 'api_keys: [{ name: mended, role: visitor }]\n');
  expect((await apply()).code).toBe(1);
  await writeFile(file, 'api_keys: [{ name: mended, role: user }]\n');
  expect((await apply()).out).toBe('+ created api_keys mended\n');
});

it('what would delete everything by mistake is refused', async () => {
  expect(await run(['apply', '-f', '-', '--prune', '--label', 'shop'])).toMatchObject({ code: 2 });
  const input = 'agents: [{ key: ann, model: small }]';
  expect(await run(['apply', '-f', '-', '--prune'], { input })).toMatchObject({ code: 2 });
});

it.each([
  [{ GATEHOUSE_URL: 'http://gatehouse.example.com', GATEHOUSE_API_KEY: 'gwk_secret' }],
  [{ GATEHOUSE_URL: 'http://127.0.0.1:9', GATEHOUSE_API_KEY: 'gwk_secret\nand more' }],
])('a key in the environment goes where it may, and into no message: %j', async (environment) => {
  const { code, out, error } = await run(['whoami'], { environment });
  expect([code, out]).toEqual([2, '']);
  expect(error).not.toContain('gwk_secret');
});

it('an interruption ends a command that follows', async () => {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const { code } = await run(['traces', 'follow'], { signal, onWrite: () => interrupt.abort() });
  expect(code).toBe(130);
});
