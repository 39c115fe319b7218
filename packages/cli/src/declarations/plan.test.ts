import { expect, it } from '@jest/globals';
import type { Declaration, Declared } from './declared.ts';
import type { Members } from './members.ts';
import { plannedLines } from './step-text.ts';
import { kinds } from './kinds.ts';
import { planSteps, type PlanOptions } from './plan.ts';
import type { Present } from './present.ts';

const kindOf = (name: string) => {
  const kind = kinds.find((each) => each.name === name);
  if (kind === undefined) throw new Error(name);
  return kind;
};
const sets = new Map([['agents', new Set(['tools.builtin'])]]);
const declarationOf = (members: Members, written = members): Declaration => ({
  ...{ members, written, missing: new Map() },
  place: { file: 'a.yaml', lineOf: (path = []) => 1 + path.length },
});
const declaredOf = (lists: Record<string, Members[]>): Declared =>
  new Map(kinds.map((kind) => [kind, (lists[kind.name] ?? []).map((members) => declarationOf(members))]));
const presentOf = (lists: Record<string, Members[]>): Present =>
  new Map(
    Object.entries(lists).map(([name, things]) => {
      const kind = kindOf(name);
      return [kind, new Map(things.map((thing) => [String(thing[kind.identity]), thing]))];
    }),
  );
function stepsOf(
  declared: Record<string, Members[]>,
  present: Record<string, Members[]>,
  options: Partial<PlanOptions> = {},
): string[] {
  const all = { label: 'shop', prune: false, sendSecrets: false, sets, ...options };
  return planSteps(declaredOf(declared), presentOf(present), all).map(
    ({ action, kind, identity, differing }) => `${action} ${kind.name} ${identity} ${differing.join()}`,
  );
}

const clerk = { id: '1', key: 'clerk', model: 'm', tools: { builtin: [], max_iterations: 10 } };
const ours = { ...clerk, metadata: { gatehouse_label: 'shop' } };

it('things that there are not are made, in an order in which others need them', () => {
  const declared = {
    endpoints: [{ name: 'Alerts', agent: 'clerk' }],
    agents: [{ key: 'clerk', model: 'm' }],
    mcp_servers: [{ name: 'mail', url: 'https://mail.example.com' }],
  };
  expect(stepsOf(declared, {})).toEqual([
    'create mcp_servers mail name,url',
    'create agents clerk key,model,metadata',
    'create endpoints Alerts name,agent',
  ]);
});

it('nothing is done where all that is declared holds', () => {
  const declared = { agents: [{ key: 'clerk', model: 'm', tools: { max_iterations: 10 } }] };
  expect(stepsOf(declared, { agents: [ours] })).toEqual([]);
});

it('the order of a list matters, that of a set does not', () => {
  const there = {
    ...ours,
    model_fallbacks: ['a', 'b'],
    tools: { ...ours.tools, builtin: ['web_fetch', 'kg_traverse'] },
  };
  const agent = { key: 'clerk', model: 'm', tools: { builtin: ['kg_traverse', 'web_fetch'] } };
  const steps = (model_fallbacks: string[]) =>
    stepsOf({ agents: [{ ...agent, model_fallbacks }] }, { agents: [there] });
  expect(steps(['a', 'b'])).toEqual([]);
  expect(steps(['b', 'a'])).toEqual(['update agents clerk model_fallbacks']);
});

it('members that differ are changed, with what stands beside them', () => {
  const declared = declaredOf({ agents: [{ key: 'clerk', model: 'm', tools: { max_iterations: 3 } }] });
  const options = { label: 'shop', prune: false, sendSecrets: false, sets };
  const [step, ...others] = planSteps(declared, presentOf({ agents: [ours] }), options);
  expect(others).toEqual([]);
  expect(step).toMatchObject({ action: 'update', id: '1', differing: ['tools'] });
  expect(step?.members).toEqual({ tools: { builtin: [], max_iterations: 3 } });
});

it('a channel belongs to the agent with the declared key', () => {
  const declared = { channels: [{ name: 'Desk', agent: 'clerk', type: 'generic' }] };
  const desk = { id: '9', name: 'Desk', agent_id: '1', type: 'generic' };
  expect(stepsOf(declared, { agents: [ours], channels: [desk] })).toEqual([]);
  expect(stepsOf(declared, { agents: [ours], channels: [{ ...desk, agent_id: '2' }] })).toEqual([
    'update channels Desk agent',
  ]);
});

it('secrets are sent again only when they are asked for', () => {
  const declared = { mcp_servers: [{ name: 'mail', auth: { type: 'bearer', token: 't' } }] };
  const present = { mcp_servers: [{ id: '3', name: 'mail', auth: { type: 'bearer', token: true } }] };
  expect(stepsOf(declared, present)).toEqual([]);
  expect(stepsOf(declared, present, { sendSecrets: true })).toEqual(['update mcp_servers mail auth']);
});

it('pruning deletes what carries the label and is no longer declared, the other way round', () => {
  const other = { ...clerk, id: '2', key: 'other', metadata: { gatehouse_label: 'else' } };
  const present = {
    agents: [ours, other],
    channels: [
      { id: '9', name: 'Desk', agent_id: '1' },
      { id: '8', name: 'Not ours', agent_id: '2' },
    ],
    endpoints: [{ id: '7', name: 'Alerts', agent_id: '1' }],
  };
  expect(stepsOf({}, present, { prune: true })).toEqual([
    'delete endpoints Alerts ',
    'delete channels Desk ',
    'delete agents clerk ',
  ]);
  expect(stepsOf({}, present)).toEqual([]);
});

it('what can’t be changed is said', () => {
  const key = { id: '4', name: 'ci', role: 'user', status: 'active' };
  expect(() => stepsOf({ api_keys: [{ name: 'ci', role: 'admin' }] }, { api_keys: [key] })).toThrow(
    'a.yaml:2: api_keys: ci differs in role',
  );
  const endpoint = { id: '7', name: 'Alerts', scheme: 'github' };
  expect(() =>
    stepsOf({ endpoints: [{ name: 'Alerts', scheme: 'slack' }] }, { endpoints: [endpoint] }),
  ).toThrow('a.yaml:2: endpoints: Alerts differs in scheme');
});

it('a plan shows old and new values with their lines', () => {
  const long = `You are a clerk${' of the hotel'.repeat(20)}`;
  const there = { ...ours, system_prompt: `${long}. Be short.`, description: 'Desk', status: 'active' };
  const declared = {
    ...{ key: 'clerk', model: 'other', system_prompt: `${long}. Be kind.` },
    tools: { builtin: ['web_fetch'], max_iterations: 3 },
  };
  const [step] = planSteps(declaredOf({ agents: [declared] }), presentOf({ agents: [there] }), {
    ...{ label: undefined, prune: false, sendSecrets: false, sets },
  });
  expect(step && plannedLines(step)).toEqual([
    '~ update agents clerk (a.yaml:1)',
    '    model: m → other (line 2)',
    '    system_prompt: …el of the hotel. Be short. → …el of the hotel. Be kind. (line 2)',
    '    tools.builtin: - → web_fetch (line 3)',
    '    tools.max_iterations: 10 → 3 (line 3)',
  ]);
});

it('a plan shows no value that comes from the environment', () => {
  const written = { name: 'mail', url: 'https://mail.example.com/${TOKEN}', auth: { token: '${TOKEN}' } };
  const members = { ...written, url: 'https://mail.example.com/new', auth: { token: 'new' } };
  const mail = { id: '3', name: 'mail', url: 'https://mail.example.com/old', auth: { token_set: true } };
  const declared = new Map([[kindOf('mcp_servers'), [declarationOf(members, written)]]]);
  const [step] = planSteps(declared, presentOf({ mcp_servers: [mail] }), {
    ...{ label: undefined, prune: false, sendSecrets: true, sets },
  });
  expect(step && plannedLines(step)).toEqual([
    '~ update mcp_servers mail (a.yaml:1)',
    '    url: (not shown) → https://mail.example.com/${TOKEN} (line 2)',
    "    auth: sent again, can't be compared",
  ]);
  expect(step?.members).toEqual({ url: members.url, auth: members.auth });
});

it('allow_missing goes with a change, and is none by itself', () => {
  const declared = { agents: [{ key: 'clerk', model: 'other', allow_missing: true }] };
  const options = { label: 'shop', prune: false, sendSecrets: false, sets };
  const [step] = planSteps(declaredOf(declared), presentOf({ agents: [ours] }), options);
  expect(step?.members).toEqual({ model: 'other', allow_missing: true });
  expect(stepsOf({ agents: [{ ...declared.agents[0], model: 'm' }] }, { agents: [ours] })).toEqual([]);
});
