import { writeFile } from 'node:fs/promises';
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

it('users and policies are made, changed, and left alone where they are as declared', async () => {
  const key = tenant.adminKey;
  await gateway.call('/v1/users/grace', { key, method: 'PUT', body: { groups: ['Research'] } });
  const declare = (status: string, amount: string) =>
    writeFile(
      file,
      `users: [{ user_id: ada, aliases: [ada@example.com], groups: [research], status: ${status} }]
policies:
  - name: people
    per: user
    budget: { usd: '20', period: month }
    select: { users: [ADA@example.com, 'g*'] }
    overrides: { Ada@example.com: { budget_usd: '${amount}' } }
`,
    );
  const asDeclared = { code: 0, error: '', out: 'Everything is as declared.\n' };
  await declare('active', '50');
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 3, error: '' });
  expect(await run(`apply -f ${file}`)).toEqual({
    ...{ code: 0, error: '' },
    out: '+ created users ada\n+ created policies people\n',
  });
  // The group still has its first name.
  expect(await run(`plan -f ${file}`)).toEqual(asDeclared);
  const override = { method: 'PUT', body: { budget_usd: '1' } };
  await gateway.call('/v1/policies/people/overrides/grace', { key, ...override });
  await declare('blocked', '60');
  expect(await run(`apply -f ${file}`)).toEqual({
    ...{ code: 0, error: '' },
    out: '~ updated users ada (status)\n~ updated policies people (overrides)\n',
  });
  expect(await run(`plan -f ${file}`)).toEqual(asDeclared);
  expect((await gateway.call('/v1/users/ada', { key })).body).toMatchObject({
    ...{ status: 'blocked', groups: ['Research'] },
  });
  expect((await gateway.call('/v1/policies/people', { key })).body).toMatchObject({
    select: { users: ['ada', 'g*'] },
    overrides: { ada: { budget_usd: '60' }, grace: { budget_usd: '1' } },
  });
});

it('guardrails are made, changed, and keep credentials that are not sent again', async () => {
  const key = tenant.adminKey;
  const declare = (check: string) =>
    writeFile(file, `guardrails: [{ name: names, action: mask, check: { ${check} } }]\n`);
  const url = "type: presidio, url: 'https://presidio.example.com'";
  const auth = "auth: { type: bearer, token: '${TOKEN}' }";
  await declare(`${url}, auth: { type: bearer, token: written }`);
  expect(await run(`plan -f ${file}`)).toMatchObject({
    ...{ code: 2, error: expect.stringContaining('secrets in auth come from the environment') },
  });
  await declare(`${url}, ${auth}`);
  const environment = { TOKEN: 'canary' };
  expect(await run(`apply -f ${file}`, { environment })).toEqual({
    ...{ code: 0, error: '', out: '+ created guardrails names\n' },
  });
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
  await declare(`${url}, language: de, ${auth}`);
  expect(await run(`apply -f ${file}`)).toEqual({
    ...{ code: 0, error: '', out: '~ updated guardrails names (check)\n' },
  });
  const shown = async (): Promise<unknown> => (await gateway.call('/v1/guardrails/names', { key })).body;
  expect(await shown()).toMatchObject({ check: { language: 'de', auth: { token_set: true } } });
  expect(await run(`apply -f ${file} --send-secrets`, { environment })).toMatchObject({
    ...{ code: 0, error: '', out: '~ updated guardrails names (auth)\n' },
  });
  await declare('type: secrets');
  expect(await run(`apply -f ${file}`)).toMatchObject({ code: 0, error: '' });
  expect(await shown()).toMatchObject({ check: { type: 'secrets' } });
});

it('toolsets and keys are made, and changed where they differ', async () => {
  const declare = (servers: string, scopes: string) =>
    writeFile(
      file,
      `toolsets: [{ name: desk, mcp_servers: [${servers}], visibility: named }]
api_keys: [{ name: laptop, role: user, scopes: [${scopes}], toolsets: [desk] }]
`,
    );
  await declare('mail, files/list', 'tools.call');
  const secrets = path.join(commandLine.folder, 'toolsets.jsonl');
  expect(await run(`apply -f ${file} --secrets-file ${secrets}`)).toEqual({
    ...{ code: 0, error: '', out: '+ created toolsets desk\n+ created api_keys laptop\n' },
  });
  await declare('files/list, mail', 'tools.call');
  expect(await run(`plan -f ${file}`)).toMatchObject({ code: 0, out: 'Everything is as declared.\n' });
  await declare('mail', 'chat, tools.call');
  expect(await run(`apply -f ${file}`)).toEqual({
    ...{ code: 0, error: '' },
    out: '~ updated toolsets desk (mcp_servers)\n~ updated api_keys laptop (scopes)\n',
  });
  const { data } = (await gateway.call('/v1/api-keys', { key: tenant.adminKey })).body as {
    data: { name: string; scopes: string[] }[];
  };
  expect(data.find(({ name }) => name === 'laptop')?.scopes).toEqual(['chat', 'tools.call']);
});

it('a user is declared by its id, and a policy counts as it was made', async () => {
  const key = tenant.adminKey;
  const body = { aliases: ['ada@example.com'] };
  await gateway.call('/v1/users/ada', { key, method: 'PUT', body });
  await gateway.call('/v1/policies', { key, body: { name: 'people', per: 'user' } });
  await writeFile(
    file,
    'users:\n  - user_id: ada@example.com\n    status: blocked\npolicies: [{ name: people, per: agent }]\n',
  );
  const { code, error } = await run(`apply -f ${file}`);
  expect([code, error]).toEqual([
    2,
    expect.stringMatching(
      /:2: users: ada@example.com differs in user_id, .*\n.*:4: policies: people differs in per, /,
    ),
  ]);
});
