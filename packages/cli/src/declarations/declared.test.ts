import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readDeclared } from './declared.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-cli-'));
});
afterEach(async () => rm(folder, { recursive: true }));

const environment = { TOKEN: 'from the environment' };
async function read(files: Record<string, string>): Promise<Record<string, unknown>> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(folder, name), text);
  const declared = await readDeclared(folder, { stdin: Readable.from([]), environment });
  return Object.fromEntries(
    [...declared]
      .filter(([, things]) => things.length > 0)
      .map(([kind, things]) => [kind.name, things.map(({ members }) => members)]),
  );
}

it('files of a folder and documents of a file are one', async () => {
  const files = {
    'a.yaml': 'agents: [{ key: a, model: m }]\n---\nagents: [{ key: b, model: m }]\n',
    'b.json': '{"agents": [{"key": "c", "model": "m"}]}',
    'notes.md': 'agents: none of these',
  };
  const { agents } = await read(files);
  expect(agents).toMatchObject([{ key: 'a' }, { key: 'b' }, { key: 'c' }]);
});

it('secrets come from the environment', async () => {
  const file = 'mcp_servers: [{ name: mail, auth: { type: bearer, token: "${TOKEN}" } }]';
  expect(await read({ 'a.yaml': file })).toMatchObject({
    mcp_servers: [{ auth: { type: 'bearer', token: 'from the environment' } }],
  });
});

it('a text keeps what only looks like a variable, by a second $', async () => {
  const file = "agents: [{ key: a, system_prompt: 'Write $${TOKEN}, for $5 in ${TOKEN}' }]";
  expect(await read({ 'a.yaml': file })).toMatchObject({
    agents: [{ system_prompt: 'Write ${TOKEN}, for $5 in from the environment' }],
  });
});

it('a credential needs its variable only where it is sent', async () => {
  await writeFile(
    path.join(folder, 'a.yaml'),
    'mcp_servers:\n  - name: mail\n    auth: { token: "${NONE}" }\n',
  );
  const declared = await readDeclared(folder, { stdin: Readable.from([]), environment });
  const [mail] = [...declared.values()].flat();
  expect(mail).toMatchObject({ members: { name: 'mail' }, written: { auth: { token: '${NONE}' } } });
  expect([...(mail?.missing ?? [])]).toEqual([['auth', 'NONE']]);
});

it('every member has its line, also in JSON and behind an alias', async () => {
  const yaml =
    'agents:\n  - key: a\n    tools:\n      mcp_servers:\n        - mail\n        - files\n  - &b\n    key: b\n---\nagents:\n- key: c\n  model: m\n';
  await writeFile(path.join(folder, 'a.yaml'), yaml);
  await writeFile(path.join(folder, 'b.json'), '{"agents": [\n{"key": "d",\n"model": "m"}]}');
  const declared = await readDeclared(folder, { stdin: Readable.from([]), environment });
  const [a, b, c, d] = [...declared.values()].flat().map(({ place }) => place);
  expect(a?.lineOf()).toBe(2);
  expect(a?.lineOf(['tools', 'mcp_servers', '1'])).toBe(6);
  expect(a?.lineOf(['tools', 'builtin'])).toBe(3);
  expect(b?.lineOf(['key'])).toBe(8);
  expect([c?.lineOf(), c?.lineOf(['model'])]).toEqual([11, 12]);
  expect([d?.file, d?.lineOf(['model'])]).toEqual([path.join(folder, 'b.json'), 3]);
});

it('all mistakes are reported at once, each with its line', async () => {
  const file = 'agents:\n  - key: a\n  - key: a\n  - model: m\n    key: "${NONE}"\n  - model: m\nagent: []\n';
  const at = path.join(folder, 'a.yaml');
  await expect(read({ 'a.yaml': file })).rejects.toThrow(
    [
      `${at}:6: agents[3] has no key`,
      `${at}:7: agent is none of tenants, mcp_servers, agents, toolsets, channels, endpoints, subscriptions, users, policies, guardrails, api_keys`,
      `${at}:3: agents: a is declared twice, first at ${at}:2`,
      `${at}:5: The environment has no NONE. For the text itself, write $$\{NONE}.`,
    ].join('\n'),
  );
});

it.each([
  [
    'mcp_servers: [{ name: mail, auth: { type: bearer, token: secret } }]',
    'secrets in auth come from the environment',
  ],
  [
    'channels: [{ name: a, credentials: { token: secret } }]',
    'secrets in credentials come from the environment',
  ],
  ['endpoints: [{ name: a, secret: "x${TOKEN}" }]', 'secrets in secret come from the environment'],
  ['agents: [{ key: a, model: "${NONE}" }]', 'The environment has no NONE'],
  ['agents: [{ key: a }, { key: a }]', 'agents: a is declared twice'],
  ['agents: [{ model: a }]', 'a.yaml:1: agents[0] has no key'],
  ['agents: { key: a }', 'agents must be a list'],
  ['agent: []', 'agent is none of tenants, mcp_servers'],
  ['[1]', 'a.yaml:1: it must hold lists by kind'],
  ['agents: [', 'a.yaml'],
  ['agents: *none', 'a.yaml'],
  ['agents: [{ key: a, key: b }]', 'a.yaml'],
  [`a: &a [1, 1, 1]\n${'b: &b [*a, *a, *a]\n'.repeat(1)}agents: ${'['.repeat(100_000)}`, 'a.yaml'],
])('%s is refused', async (text, reason) => {
  await expect(read({ 'a.yaml': text })).rejects.toThrow(reason);
});
