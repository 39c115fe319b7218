import type { Agent as WireAgent, CreateAgent, listAgents, PatchAgent } from '@gatehouse/contract/agents';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { z } from 'zod';
import { modelsOf, newSettings, patchedSettings, type Agent } from '../domain/agent.ts';
import { visibilityOf } from '../domain/visibility.ts';
import type { ModelClient } from '../peers/models.ts';
import type { AgentStore } from '../store/agent-store.ts';

type List = Call<unknown, z.output<typeof listAgents>>;

/** `/v1/agents*`. */
export function agentHandlers(agents: AgentStore, models: ModelClient): Record<string, Handler> {
  return {
    'agents.list': async (call: List) => {
      const principal = tenantOf(call);
      const { limit, cursor, status, q } = call.query;
      const visibility = visibilityOf(principal);
      const rows = await agents.list(principal.tenantId, {
        visibility,
        status,
        q,
        limit,
        before: decodeCursor(cursor),
      });
      return { body: pageOf(rows, limit, showAgent) };
    },

    'agents.create': async (call: Call<CreateAgent>) => {
      const principal = tenantOf(call);
      const settings = newSettings(call.body, principal.actingUser);
      await models.assertUsable(call, modelsOf(settings));
      const agent = await agents.insert(principal.tenantId, newId(), settings);
      return { body: showAgent(agent), headers: { location: `/v1/agents/${agent.id}` } };
    },

    'agents.get': async (call: Call) => {
      const principal = tenantOf(call);
      return {
        body: showAgent(found(await agents.find(principal.tenantId, ref(call), visibilityOf(principal)))),
      };
    },

    'agents.patch': (call: Call<PatchAgent>) => patchAgent(agents, models, call),

    'agents.delete': async (call: Call) => {
      const principal = tenantOf(call);
      if (!(await agents.delete(principal.tenantId, ref(call), visibilityOf(principal)))) throw notFound();
      return {};
    },
  };
}

async function patchAgent(
  agents: AgentStore,
  models: ModelClient,
  call: Call<PatchAgent>,
): Promise<{ body: WireAgent }> {
  const principal = tenantOf(call);
  const target = { ref: ref(call), visibility: visibilityOf(principal) };
  // Models are asked for before the row is locked: no transaction waits for another service.
  const before = found(await agents.find(principal.tenantId, target.ref, target.visibility));
  const known = new Set(modelsOf(before).map(({ model }) => model));
  const named = modelsOf({
    ...before,
    model: call.body.model ?? before.model,
    model_fallbacks: call.body.model_fallbacks ?? [],
  });
  await models.assertUsable(
    call,
    named.filter(({ model }) => !known.has(model)),
  );
  const agent = await agents.update(principal.tenantId, target, (current) =>
    patchedSettings(settingsOf(current), call.body, principal.actingUser),
  );
  return { body: showAgent(found(agent)) };
}

/** `{agentID}`: an id or a key. */
function ref(call: Call): string {
  return call.params['agentID'] ?? '';
}

function found(agent: Agent | null): Agent {
  if (agent === null) throw notFound();
  return agent;
}

function notFound(): AppError {
  return new AppError('not_found', 'There is no such agent.');
}

function settingsOf({
  id: _id,
  createdAt: _createdAt,
  updatedAt: _updatedAt,
  ...settings
}: Agent): Omit<Agent, 'id' | 'createdAt' | 'updatedAt'> {
  return settings;
}

function showAgent(agent: Agent): WireAgent {
  return {
    id: agent.id,
    ...settingsOf(agent),
    created_at: agent.createdAt.toISOString(),
    updated_at: agent.updatedAt.toISOString(),
  };
}
