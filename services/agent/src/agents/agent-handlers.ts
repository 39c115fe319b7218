import type { Agent as WireAgent, CreateAgent, listAgents, PatchAgent } from '@gatehouse/contract/agents';
import type { Changes } from '@gatehouse/audited-changes/changes';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { orNotFound } from '@gatehouse/http/resource';
import type { Jobs } from '@gatehouse/jobs/jobs';
import { newId } from '@gatehouse/kit/ids';
import type { UserIdLookup } from '@gatehouse/shell/user-id-lookup';
import type { z } from 'zod';
import { deleteAgent, insertAgent, lockAgent, updateAgent, type AgentStore } from './agent-store.ts';
import type { McpRefStore } from './mcp-ref-store.ts';
import { assertKnownRefs, partsOf } from './mcp-refs.ts';
import { modelsOf, newSettings, patchedSettings, type Agent } from './agent.ts';
import type { agentTasks } from './forget-agent-job.ts';
import type { ModelClient } from './model-client.ts';
import { viewerOf } from './viewer.ts';

type List = Call<unknown, z.output<typeof listAgents>>;
type Create = Call<CreateAgent>;
type Patch = Call<PatchAgent>;

const what = 'agent';

export interface AgentDependencies {
  agents: AgentStore;
  models: ModelClient;
  userIds: UserIdLookup;
  mcpRefs: McpRefStore;
  changes: Changes;
  jobs: Jobs<typeof agentTasks>;
}

/** `/v1/agents*`; `{agentID}` is an id or a key. */
export function agentHandlers(dependencies: AgentDependencies): Record<string, Handler> {
  const { agents, models, userIds, changes, jobs } = dependencies;
  return {
    'agents.list': async (call: List) => {
      const { limit, cursor, status, q } = call.query;
      const rows = await agents.list(viewerOf(tenantOf(call)), {
        status: status ?? null,
        q: q ?? null,
        limit,
        before: decodeCursor(cursor),
      });
      return { body: pageOf(rows, limit, showAgent) };
    },

    'agents.create': async (call: Create) => {
      const { tenantId, userId } = tenantOf(call);
      const settings = newSettings({ ...call.body, ...(await namedOwner(call, userIds)) }, userId);
      await models.assertUsable(call, modelsOf(settings));
      await assertKnownServers(call, dependencies, []);
      return changes.change(call, async (db) => {
        const agent = await insertAgent(db, tenantId, { id: newId(), settings });
        return {
          body: showAgent(agent),
          headers: { location: `/v1/agents/${agent.id}` },
          changes: [{ action: 'agent.created', id: agent.id, before: null, after: showAgent(agent) }],
        };
      });
    },

    'agents.get': async (call: Call) => {
      const agent = await agents.find(viewerOf(tenantOf(call)), refOf(call));
      return { body: showAgent(orNotFound(agent, what)) };
    },

    'agents.patch': async (call: Patch) => {
      const principal = tenantOf(call);
      // Before the row is locked: no transaction waits for another service.
      await checkAdded(call, dependencies);
      const body = { ...call.body, ...(await namedOwner(call, userIds)) };
      return changes.change(call, async (db) => {
        const before = orNotFound(await lockAgent(db, viewerOf(principal), refOf(call)), what);
        const settings = patchedSettings(before, body, principal.userId);
        const after = await updateAgent(db, principal.tenantId, { before, settings });
        return {
          body: showAgent(after),
          changes: [
            { action: 'agent.updated', id: after.id, before: showAgent(before), after: showAgent(after) },
          ],
        };
      });
    },

    'agents.delete': async (call: Call) => {
      const principal = tenantOf(call);
      const { tenantId } = principal;
      return changes.change(call, async (db) => {
        const agent = orNotFound(await lockAgent(db, viewerOf(principal), refOf(call)), what);
        await deleteAgent(db, agent.id);
        await jobs.add(db, { task: 'forget_agent', tenantId, ids: { agentId: agent.id } });
        return {
          changes: [{ action: 'agent.deleted', id: agent.id, before: showAgent(agent), after: null }],
        };
      });
    },
  };
}

/** The owner named by the body, by the id of the user. */
async function namedOwner(
  call: Create | Patch,
  userIds: UserIdLookup,
): Promise<Pick<PatchAgent, 'owner_user_id'>> {
  const { owner_user_id: named } = call.body;
  return typeof named === 'string' ? { owner_user_id: await userIds.find(call, named) } : {};
}

/** Checks what a change adds. An agent may keep a model, a server and a tool that are gone since. */
async function checkAdded(call: Patch, dependencies: AgentDependencies): Promise<void> {
  const { agents, models } = dependencies;
  const named = modelsOf(call.body);
  if (named.length === 0 && call.body.tools?.mcp_servers === undefined) return;
  const agent = orNotFound(await agents.find(viewerOf(tenantOf(call)), refOf(call)), what);
  const known = new Set(modelsOf(agent).map(({ model }) => model));
  await models.assertUsable(
    call,
    named.filter(({ model }) => !known.has(model)),
  );
  await assertKnownServers(call, dependencies, agent.tools.mcp_servers);
}

/** Throws `unknown_mcp_server`, unless the request allows it. `before`: the references of the agent so far. */
async function assertKnownServers(
  call: Create | Patch,
  { mcpRefs }: AgentDependencies,
  before: readonly string[],
): Promise<void> {
  const { tools, allow_missing: isAllowed = false } = call.body;
  const refs = (tools?.mcp_servers ?? [])
    .map((ref, index) => ({ ref, index }))
    .filter(({ ref }) => !before.includes(ref));
  if (isAllowed || refs.length === 0) return;
  const withTools = refs.map(({ ref }) => partsOf(ref)).filter(({ tool }) => tool !== null);
  const names = withTools.map(({ server }) => server);
  assertKnownRefs(refs, await mcpRefs.list(tenantOf(call).tenantId, [...new Set(names)]));
}

function refOf(call: Pick<Call, 'params'>): string {
  return call.params['agentID'] ?? '';
}

function showAgent({ createdAt, updatedAt, isClosed: _, ...agent }: Agent): WireAgent {
  return { ...agent, created_at: createdAt.toISOString(), updated_at: updatedAt.toISOString() };
}
