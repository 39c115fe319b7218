import type { Model as WireModel } from '@gatehouse/contract/chat';
import { tenantOf, type Call, type Handler, type Reply } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import type { Catalogue, Model } from '../domain/catalogue.ts';
import { agentRef, modelNotFound, type AgentName } from '../domain/target.ts';
import type { AgentClient } from '../peers/agents.ts';
import type { TenantSettingsClient } from '../peers/tenant-settings.ts';

export interface ModelDependencies {
  catalogue: Catalogue;
  agents: AgentClient;
  settings: TenantSettingsClient;
}

/** `GET /v1/models` and `GET /v1/models/{id}`: what the caller may name as `model`. */
export function modelHandlers(dependencies: ModelDependencies): Record<string, Handler> {
  return {
    'models.list': (call) => listModels(dependencies, call),
    'models.get': (call) => getModel(dependencies, call),
  };
}

async function listModels({ catalogue, agents, settings }: ModelDependencies, call: Call): Promise<Reply> {
  const principal = tenantOf(call);
  const { allowedModels } = await settings.getNow(principal.tenantId, call);
  const models = [...catalogue.models.values()].filter(
    (model) => catalogue.find(model.id, allowedModels) === model,
  );
  const list = new BoundedItems<WireModel>();
  let complete = list.addAll(models, fromModel) === models.length;
  for await (const page of complete ? agents.list({ ...call, principal }) : []) {
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
  const agent = await agents.resolve({ ...call, principal }, ref);
  if (agent?.status !== 'active') throw modelNotFound(id);
  return { body: fromAgent(agent) };
}

/** The catalogue knows no dates; OpenAI's shape wants one. */
function fromModel(model: Model): WireModel {
  return { id: model.id, object: 'model', created: 0, owned_by: model.provider.name };
}

function fromAgent(agent: AgentName): WireModel {
  return { id: `agent:${agent.key}`, object: 'model', created: agent.created, owned_by: 'tenant' };
}
