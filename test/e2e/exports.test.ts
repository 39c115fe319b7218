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
toolsets:
  - name: desk
    description: Mail and files.
    mcp_servers: [mail, files/list]
    deny: [mail/send]
    agents: [clerk, clerk/memory_search]
    visibility: named
  - { name: mailing, mcp_servers: [mail], prefix: false, enabled: false }
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
  - name: Alerts
    agent: clerk
    mode: async
    callback_url: https://example.com/results
    deliver_to: { channel: Desk, conversation: ops }
  - { name: Payments, agent: other, scheme: stripe, secret: '\${TOKEN}', allowed_cidrs: [192.0.2.0/24] }
  - { name: Shop, agent: other, scheme: hmac, header: X-Shop, encoding: base64, secret: '\${TOKEN}' }
subscriptions:
  - { url: 'https://example.com/events', event_types: [budget.threshold, run.failed], enabled: false }
users:
  - { user_id: ada, aliases: [ada@example.com], display_name: Ada, groups: [Research, Berlin] }
  - { user_id: grace, status: blocked }
policies:
  - name: people
    per: user
    select: { models: ['gpt-*'] }
    limits: { requests_per_minute: 60 }
    budget: { usd: '20', period: month }
    overrides: { 'group:Research': { budget_usd: null, note: Migration } }
  - { name: all, budget: { usd: '5', period: day }, enforce: false, enabled: false, alerts: [90] }
guardrails:
  - name: contacts
    check: { type: pii, regions: [DE] }
    action: mask
    select: { groups: [Research] }
    except: ['*@example.org']
  - name: names
    check: { type: presidio, url: 'https://presidio.example.com', auth: { type: bearer, token: '\${TOKEN}' } }
    action: mask
    hold: 400
    enabled: false
api_keys:
  - name: ci
    role: user
    scopes: [chat]
    expires_at: '2099-01-01T00:00:00Z'
    limits: { requests_per_minute: 60 }
    budget: { usd: '5', period: day }
    toolsets: [desk]
    client_settings: laptops
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
    'GUARDRAIL_NAMES_TOKEN',
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

it('deliver_to has the name of a channel, also of one that the same files create', async () => {
  const desk = (conversation: string, channel = 'Desk') => `agents: [{ key: clerk, model: small }]
channels: [{ name: Desk, agent: clerk, type: generic, config: { callback_url: 'https://example.com/replies' } }]
endpoints:
  - name: Alerts
    agent: clerk
    deliver_to:
      channel: ${channel}
      conversation: ${conversation}
`;
  const secrets = path.join(commandLine.folder, 'deliver-to.jsonl');
  await writeFile(file, desk('ops', 'Desc'));
  const unknown = `${file}:7: endpoints Alerts: There is no channel "Desc", and none is declared.\n`;
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 2, error: unknown });
  await writeFile(file, desk('ops'));
  expect(await run(`apply -f ${file} --secrets-file ${secrets}`)).toMatchObject({ code: 0, error: '' });
  const list = async (kind: string) =>
    (await gateway.call(kind, { key: tenant.adminKey })).body as { data: Record<string, unknown>[] };
  const [channel] = (await list('/v1/channels/instances')).data;
  const [endpoint] = (await list('/v1/webhooks/endpoints')).data;
  expect(endpoint?.['deliver_to']).toEqual({ channel_instance_id: channel?.['id'], conversation: 'ops' });
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
  await writeFile(file, desk('other'));
  expect(await run(`apply -f ${file}`)).toMatchObject({
    code: 0,
    out: '~ updated endpoints Alerts (deliver_to)\n',
  });
  const body = {
    name: 'Desk',
    type: 'generic',
    agent_id: channel?.['agent_id'],
    config: channel?.['config'],
  };
  await gateway.call('/v1/channels/instances', { key: tenant.adminKey, body });
  await writeFile(file, desk('third').replace(/channels: .*\n/, ''));
  const several = `${file}:6: endpoints Alerts: Several channels are named "Desk".\n`;
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 2, error: several });
  const { code, error } = await run('export');
  expect([code, error]).toEqual([
    1,
    'Left out, because several have the name: channels Desk\n' +
      'Left out, because the name of their channel is not known: endpoints Alerts deliver_to\n',
  ]);
});

it('an export has a variable of its own for each credential, and for URLs that hold one', async () => {
  const token = 'aBcDeFgHiJkLmNoPqRsTuVwX';
  await writeFile(
    file,
    `mcp_servers:
  - { name: mail, url: 'https://mail.example.com/mcp?key=${token}', verify: false }
agents: [{ key: clerk, model: small }]
channels:
  - { name: Front desk, agent: clerk, type: slack, credentials: { bot_token: '\${T}', signing_secret: '\${T}' } }
  - { name: Front-desk, agent: clerk, type: slack, credentials: { bot_token: '\${T}', signing_secret: '\${T}' } }
endpoints:
  - { name: Alerts, agent: clerk, mode: async, callback_url: 'https://example.com/in/${token}' }
subscriptions:
  - { url: 'https://example.com/services/${token}', event_types: [run.failed] }
  - { url: 'https://example.com/services/${token}Z', event_types: [run.failed] }
`,
  );
  const secrets = path.join(commandLine.folder, 'urls.jsonl');
  const applied = await run(`apply -f ${file} --secrets-file ${secrets}`, {
    environment: { T: 'a-secret-of-the-sender' },
  });
  expect([applied.error, applied.code]).toEqual(['', 0]);
  const { out } = await run('export');
  expect(out).not.toContain(token);
  const variables = [...out.matchAll(/^[^$\n]*\$\{(\w+)\}/gm)].map(([, name = '']) => name);
  expect(variables).toEqual([
    ...['MCP_MAIL_URL', 'CHANNEL_FRONT_DESK_BOT_TOKEN', 'CHANNEL_FRONT_DESK_SIGNING_SECRET'],
    ...['CHANNEL_FRONT_DESK_BOT_TOKEN_2', 'CHANNEL_FRONT_DESK_SIGNING_SECRET_2'],
    ...['ENDPOINT_ALERTS_CALLBACK_URL', 'SUBSCRIPTION_EXAMPLE_COM_URL', 'SUBSCRIPTION_EXAMPLE_COM_URL_2'],
  ]);
  const copy = path.join(commandLine.folder, 'urls.yaml');
  await writeFile(copy, out);
  const environment = {
    MCP_MAIL_URL: `https://mail.example.com/mcp?key=${token}`,
    ENDPOINT_ALERTS_CALLBACK_URL: `https://example.com/in/${token}`,
    SUBSCRIPTION_EXAMPLE_COM_URL: `https://example.com/services/${token}`,
    SUBSCRIPTION_EXAMPLE_COM_URL_2: `https://example.com/services/${token}A`,
  };
  // One of another address is another subscription; no text shows either.
  expect(await run(`plan -f ${copy}`, { environment })).toEqual({
    code: 3,
    error: '',
    out: expect.stringMatching(/^\+ create subscriptions \$\{SUBSCRIPTION_EXAMPLE_COM_URL_2\} \(\S+\)\n$/),
  });
});

it('an export has what the key may read, and names the rest', async () => {
  await gateway.call('/v1/agents', { key: tenant.adminKey, body: { key: 'clerk', model: 'small' } });
  const key = await gateway.call('/v1/api-keys', {
    key: tenant.adminKey,
    body: { name: 'reader', role: 'admin', scopes: ['agents.write', 'keys.write'] },
  });
  const { code, out, error } = await run('export', { key: (key.body as { key: string }).key });
  expect([code, error]).toEqual([
    1,
    'Left out, because this key may not read them: mcp_servers, toolsets, channels, endpoints, subscriptions, users, policies, guardrails\n',
  ]);
  expect(out).toContain('#   subscriptions\n');
  expect(out).toContain('  - key: clerk\n');
  expect(out).toContain('  - name: reader\n');
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
