import type { Model as WireModel } from '@gatehouse/contract/chat';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import type { Catalogue, Model } from './catalogue.ts';
import { agentRef, modelNotFound, type AgentName } from './target.ts';
import { requestActor, type ProvenActor } from '../shared/actor.ts';
import type { AgentClient } from './agent-peer.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';

export interface ModelDependencies {
  catalogue: Catalogue;
  agents: AgentClient;
  settings: TenantSettingsClient;
}

/** At least 7,000 agents. Larger lists would take the memory that completions need. */
const listBytes = 1024 * 1024;

/**
 * `GET /v1/models` and `GET /v1/models/{id}`: what the caller may use as `model`. Concurrent requests of callers that
 * see the same agents share one list.
 */
export function modelHandlers(dependencies: ModelDependencies): Record<string, Handler> {
  const lists = new SharedCalls<Reply>();
  return {
    'models.list': (call) => {
      const actor = requestActor({ ...call, principal: tenantOf(call) });
      return lists.get(actor.sees, () => listModels(dependencies, actor));
    },
    'models.get': (call) => getModel(dependencies, call),
  };
}

async function listModels(
  { catalogue, agents, settings }: ModelDependencies,
  actor: ProvenActor,
): Promise<Reply> {
  const { allowedModels } = await settings.getNow(actor.tenantId, actor);
  const models = [...catalogue.models.values()].filter(
    (model) => catalogue.find(model.id, allowedModels) === model,
  );
  const list = new BoundedItems<WireModel>(listBytes);
  let complete = list.addAll(models, fromModel) === models.length;
  for await (const page of complete ? agents.list(actor) : []) {
    complete = list.addAll(page, fromAgent) === page.length;
    if (!complete) break;
  }
  return { body: { object: 'list', data: list.items, ...(complete ? {} : { has_more: true }) } };
}

async function getModel({ catalogue, agents, settings }: ModelDependencies, call: Call): Promise<Reply> {
  const principal = tenantOf(call);
  const id = call.params['id'] ?? '';
  const ref = agentRef(id);
  if (ref === null) {
    const { allowedModels } = await settings.getNow(principal.tenantId, call);
    const model = catalogue.find(id, allowedModels);
    if (model === undefined) throw modelNotFound(id);
    return { body: fromModel(model) };
  }
  const agent = await agents.resolve(requestActor({ ...call, principal }), ref);
  if (agent?.status !== 'active') throw modelNotFound(id);
  return { body: fromAgent(agent) };
}

/** OpenAI's shape requires a date, and the catalogue has none. */
function fromModel(model: Model): WireModel {
  return { id: model.id, object: 'model', created: 0, owned_by: model.provider.name };
}

function fromAgent(agent: AgentName): WireModel {
  return { id: `agent:${agent.key}`, object: 'model', created: agent.created, owned_by: 'tenant' };
}
