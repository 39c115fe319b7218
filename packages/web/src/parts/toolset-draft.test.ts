import { expect, it } from '@jest/globals';
import { createToolset, patchToolset, type WireToolset } from '@gatehouse/contract/toolsets';
import { newToolset, toolsetBody, toolsetChanges, toolsetDraft, type ToolsetDraft } from './toolset-draft.ts';

const toolset: WireToolset = {
  ...{ id: '0198c2e4-7c8d-7e9f-8a1b-3c4d5e6f7081', name: 'support', description: '', enabled: true },
  ...{ mcp_servers: ['tickets'], deny: [], agents: [], prefix: true, visibility: 'tenant', missing: [] },
  ...{ created_at: '2026-01-10T09:00:00.000Z', updated_at: '2026-01-10T09:00:00.000Z' },
};

it.each<[string, Partial<ToolsetDraft>, object]>([
  ['nothing', {}, {}],
  ['its servers', { mcp_servers: ['tickets/a', ' ', 'mail '] }, { mcp_servers: ['tickets/a', 'mail'] }],
  ['the names of its tools', { prefix: 'false' }, { prefix: false }],
  ['its visibility', { visibility: 'named' }, { visibility: 'named' }],
])('the fields of a toolset change %s', (_name, change, body) => {
  const before = toolsetDraft(toolset);
  const changes = toolsetChanges(before, { ...before, ...change });
  expect(changes).toEqual(body);
  expect(patchToolset.safeParse(changes).error).toBeUndefined();
});

it('a new toolset is read as the API takes it', () => {
  const body = toolsetBody({ ...newToolset, name: 'support', agents: ['clerk/memory_search'] });
  expect(createToolset.safeParse(body).error).toBeUndefined();
});
