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
    [...declared].filter(([, things]) => things.length > 0).map(([kind, things]) => [kind.name, things]),
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
  ['agents: [{ model: a }]', 'agents[0] has no key'],
  ['agents: { key: a }', 'agents must be a list'],
  ['agent: []', 'agent is none of tenants, mcp_servers'],
  ['[1]', 'must hold lists by kind'],
  ['agents: [', 'a.yaml'],
  ['agents: *none', 'a.yaml'],
  ['agents: [{ key: a, key: b }]', 'a.yaml'],
  [`a: &a [1, 1, 1]\n${'b: &b [*a, *a, *a]\n'.repeat(1)}agents: ${'['.repeat(100_000)}`, 'a.yaml'],
])('%s is refused', async (text, reason) => {
  await expect(read({ 'a.yaml': text })).rejects.toThrow(reason);
});
