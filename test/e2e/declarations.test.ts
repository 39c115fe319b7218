import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { CommandLine, type Ran, type RunSettings } from '@gatehouse/test/command-line';
import { openGateway } from '@gatehouse/test/open-gateway';
import type { SomeGateway } from '@gatehouse/test/some-gateway';
import type { TenantAccess } from '@gatehouse/test/tenants';

let gateway: SomeGateway;
let tenant: TenantAccess;
let commandLine: CommandLine;
let file: string;
beforeAll(async () => {
  gateway = await openGateway();
  commandLine = await CommandLine.make();
  file = path.join(commandLine.folder, 'declared.yaml');
});
beforeEach(async () => {
  tenant = await gateway.makeTenant();
});
afterAll(async () => {
  await commandLine.remove();
  await gateway.stop();
});

/** Runs a command with the admin key of the tenant. */
function run(
  line: string,
  { key = tenant.adminKey, ...settings }: RunSettings & { key?: string } = {},
): Promise<Ran> {
  const environment = { GATEHOUSE_URL: gateway.url, GATEHOUSE_API_KEY: key, ...settings.environment };
  return commandLine.run(line.split(' '), { ...settings, environment });
}

async function names(list: string): Promise<string[]> {
  const answer = await gateway.call(list, { key: tenant.adminKey });
  return (answer.body as { data: { key?: string; name?: string }[] }).data.map(
    ({ key, name }) => key ?? name ?? '',
  );
}

it('a plan is checked by the gateway, with everything that it creates, and changes nothing', async () => {
  await writeFile(
    file,
    `mcp_servers:
  - { name: mail, url: 'https://mail.example.com/mcp', verify: false }
agents:
  - key: clerk
    model: small
    tools: { mcp_servers: [mail, mail/send] }
channels:
  - { name: Desk, agent: clerk, type: generic, config: { callback_url: 'https://example.com/replies' } }
endpoints:
  - { name: Alerts, agent: clerk, template: 'Explain {{ body.title }}' }
`,
  );
  const planned = await run(`plan -f ${file}`);
  expect(planned).toEqual({
    code: 3,
    error: '',
    out: [
      `+ create mcp_servers mail (${file}:2)`,
      `+ create agents clerk (${file}:4)`,
      `+ create channels Desk (${file}:8)`,
      `+ create endpoints Alerts (${file}:10)\n`,
    ].join('\n'),
  });
  expect(await names('/v1/agents')).toEqual([]);
  expect(await run(`apply -f ${file} --dry-run`)).toEqual({ ...planned, code: 0 });
  expect((await run(`diff -f ${file} --label shop`)).code).toBe(3);
  expect(await names('/v1/mcp/servers')).toEqual([]);
});

it('every refusal has its resource, file and line, and then nothing is changed', async () => {
  await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: 'old', model: 'small' } });
  await writeFile(
    file,
    `agents:
  - { key: new, model: small }
  - key: clerk
    name: Clerk
    model: smal
  - key: old
    model: small
    memory:
      recall_limit: 1000
  - { key: reader, model: small, tools: { mcp_servers: [gone] } }
endpoints:
  - name: Alerts
    agent: new
    template: '{{ unclosed'
`,
  );
  const secrets = path.join(commandLine.folder, 'refused.jsonl');
  const applied = await run(`apply -f ${file} --secrets-file ${secrets}`);
  expect(applied.code).toBe(1);
  expect(applied.error.split('\n').map((line) => line.replace(/ \(request .*/, ''))).toEqual([
    expect.stringMatching(`^${file}:5: agents clerk: unknown_model: There is no model "smal".`),
    expect.stringMatching(`^${file}:9: agents old: invalid_value: .*memory.recall_limit`),
    expect.stringMatching(`^${file}:10: agents reader: unknown_mcp_server: .*"gone"`),
    expect.stringMatching(`^${file}:14: endpoints Alerts: invalid_value: `),
    'Nothing was changed.',
    '',
  ]);
  expect(await names('/v1/agents')).toEqual(['old']);
  const { error } = await run(`plan -f ${file} --json`);
  expect(JSON.parse(error)).toMatchObject({
    error: {
      code: 'declarations_refused',
      problems: [
        { kind: 'agents', name: 'clerk', file, line: 5, code: 'unknown_model', param: 'model' },
        { name: 'old', line: 9 },
        { name: 'reader', line: 10, param: 'tools.mcp_servers[0]' },
        { name: 'Alerts', line: 14, param: 'template' },
      ],
    },
  });
});

it('references to nothing and missing variables are reported with their lines, all at once', async () => {
  await writeFile(
    file,
    `endpoints:
  - name: Alerts
    agent: nobody
  - name: Payments
    agent: nobody
    scheme: stripe
    secret: \${STRIPE_SECRET}
`,
  );
  const { code, error } = await run(`apply -f ${file} --secrets-file none.jsonl`);
  expect([code, error.split('\n')]).toEqual([
    2,
    [
      `${file}:3: endpoints Alerts: There is no agent "nobody", and none is declared.`,
      `${file}:7: endpoints Payments: The environment has no STRIPE_SECRET.`,
      `${file}:5: endpoints Payments: There is no agent "nobody", and none is declared.`,
      '',
    ],
  ]);
});

it('a change shows old and new values, and is made', async () => {
  const body = { key: 'clerk', model: 'small', tools: { max_iterations: 10 }, description: 'Desk' };
  await gateway.call('/v1/agents', { key: tenant.adminKey, body });
  await writeFile(
    file,
    'agents:\n  - key: clerk\n    model: priced\n    tools:\n      max_iterations: 3\n    description: Front desk\n',
  );
  expect(await run(`plan -f ${file}`)).toMatchObject({
    code: 3,
    out: [
      `~ update agents clerk (${file}:2)`,
      '    model: small → priced (line 3)',
      '    tools.max_iterations: 10 → 3 (line 5)',
      '    description: Desk → Front desk (line 6)\n',
    ].join('\n'),
  });
  const { out } = await run(`plan -f ${file} --output yaml`);
  expect(out).toContain('- member: tools.max_iterations\n        old: 10\n        new: 3\n        line: 5\n');
  expect(await run(`apply -f ${file}`)).toMatchObject({
    code: 0,
    out: '~ updated agents clerk (model, tools, description)\n',
  });
  expect(await run(`plan -f ${file}`)).toEqual({ code: 0, error: '', out: 'Everything is as declared.\n' });
});

it('a plan of deletions asks at a terminal, and deletes with --yes', async () => {
  await writeFile(file, 'agents: [{ key: a, model: small }, { key: b, model: small }]');
  await run(`apply -f ${file} --label shop`);
  await writeFile(file, 'agents: [{ key: a, model: small }]');
  const questions: string[] = [];
  const refuse = (question: string) => {
    questions.push(question);
    return false;
  };
  expect(await run(`apply -f ${file} --label shop --prune`, { confirm: refuse })).toMatchObject({
    code: 2,
    error: 'Nothing was changed\n',
  });
  expect(questions).toEqual(['Delete agents b?']);
  expect(await run(`apply -f ${file} --label shop --prune --yes`, { confirm: refuse })).toMatchObject({
    code: 0,
    out: '- deleted agents b\n',
  });
  expect(await names('/v1/agents')).toEqual(['a']);
});

const everyKind = `mcp_servers:
  - { name: mail, url: 'https://mail.example.com/mcp', verify: false, auth: { type: bearer, token: '\${TOKEN}' } }
  - name: files
    url: https://files.example.com/mcp
    verify: false
    auth: { type: headers, headers: { X-Key: '\${TOKEN}' } }
    tool_filter: { deny: [remove] }
  - { name: open, url: 'https://open.example.com/mcp', verify: false, auth: { type: oauth, per_user: true } }
agents:
  - key: clerk
    model: small
    model_fallbacks: [priced]
    system_prompt: |
      Be short, and leave $\${NAME} as it is.
      "Quotes": too.
    parameters: { temperature: 0.5, stop: ['END'] }
    tools: { mcp_servers: [mail, files/list], max_cost_usd: '0.5' }
    memory: { enabled: true, write: true }
    metadata: { team: ops, nested: { list: [1, 2] } }
  - { key: other, model: priced, status: disabled }
channels:
  - name: Desk
    agent: clerk
    type: generic
    config: { callback_url: 'https://example.com/replies' }
    replies: { failure: null }
  - name: Slack desk
    agent: other
    type: slack
    credentials: { bot_token: '\${TOKEN}', signing_secret: '\${TOKEN}' }
endpoints:
  - { name: Alerts, agent: clerk, mode: async, callback_url: 'https://example.com/results' }
  - { name: Payments, agent: other, scheme: stripe, secret: '\${TOKEN}', allowed_cidrs: [192.0.2.0/24] }
  - { name: Shop, agent: other, scheme: hmac, header: X-Shop, encoding: base64, secret: '\${TOKEN}' }
subscriptions:
  - { url: 'https://example.com/events', event_types: [budget.threshold, run.failed], enabled: false }
api_keys:
  - name: ci
    role: user
    scopes: [chat]
    expires_at: '2099-01-01T00:00:00Z'
    limits: { requests_per_minute: 60 }
    budget: { usd: '5', period: day }
  - { name: ada, role: user, user_id: ada }
`;

it('an export declares a tenant: no change is left there, and another tenant becomes the same', async () => {
  const secrets = path.join(commandLine.folder, 'secrets.jsonl');
  const environment = { TOKEN: 'a-secret-of-the-sender' };
  await writeFile(file, everyKind);
  const applied = await run(`apply -f ${file} --secrets-file ${secrets}`, { environment });
  expect([applied.error, applied.code]).toEqual(['', 0]);

  const copy = path.join(commandLine.folder, 'export.yaml');
  expect(await run(`export --out ${copy}`)).toEqual({ code: 0, out: '', error: '' });
  const text = await readFile(copy, 'utf8');
  expect(text).not.toContain('a-secret-of-the-sender');
  expect(await run(`plan -f ${copy}`)).toEqual({ code: 0, error: '', out: 'Everything is as declared.\n' });
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 0, error: '' });

  const other = await gateway.makeTenant();
  const variables = [...text.matchAll(/^[^$\n]*\$\{(\w+)\}/gm)].map(([, name = '']) => name);
  expect(variables.toSorted()).toEqual([
    'CHANNEL_SLACK_DESK_BOT_TOKEN',
    'CHANNEL_SLACK_DESK_SIGNING_SECRET',
    'ENDPOINT_PAYMENTS_SECRET',
    'ENDPOINT_SHOP_SECRET',
    'MCP_FILES_X_KEY',
    'MCP_MAIL_TOKEN',
  ]);
  const elsewhere = {
    key: other.adminKey,
    environment: Object.fromEntries(variables.map((name) => [name, 'a-secret-of-the-sender'])),
  };
  // Both have a key named user, with which they were made.
  const unverified = text.replaceAll(
    /^( +)url: (https:\/\/\w+\.example\.com\/mcp)$/gm,
    '$1url: $2\n$1verify: false',
  );
  await writeFile(copy, unverified);
  const made = await run(`apply -f ${copy} --secrets-file ${secrets}.other`, elsewhere);
  expect([made.error, made.code]).toEqual(['', 0]);
  expect((await run('export', { key: other.adminKey })).out).toBe(text);
});

it('an export with an owner’s key declares tenants', async () => {
  const { code, out } = await run('export', { key: gateway.ownerKey });
  expect(code).toBe(0);
  expect(out).toContain(`- slug: ${tenant.slug}\n`);
  const copy = path.join(commandLine.folder, 'tenants.yaml');
  const [head = ''] = out.split('  - slug:');
  const own = out.split(/(?= {2}- slug:)/).find((part) => part.includes(tenant.slug)) ?? '';
  await writeFile(copy, head + own);
  expect(await run(`plan -f ${copy}`, { key: gateway.ownerKey })).toMatchObject({ code: 0, error: '' });
});

it('an export names what it leaves out', async () => {
  for (let made = 0; made < 2; made += 1)
    await gateway.call('/v1/api-keys', { key: tenant.adminKey, body: { name: 'twin', role: 'user' } });
  const { out } = await run('export');
  expect(out).toContain('# Left out, because several have the name:\n#   api_keys twin\n');
  expect(out).not.toContain('name: twin');
});
