import type { ModelQuery } from '@gatehouse/contract/chat';
import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { BoundedItems } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { runSteps, type Steps } from '@gatehouse/kit/cooperative-steps';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import type { Catalogue, Model } from './catalogue.ts';
import { listedNames, nearestModels } from './nearest-models.ts';
import { clientSurfaces } from '@gatehouse/dialects/client-surfaces';
import type { UsableModel, UsableModels } from '@gatehouse/dialects/model-list';
import { agentRef, modelNotFound, type AgentName } from './target.ts';
import { requestActor, type ProvenActor } from '../shared/actor.ts';
import type { AgentClient } from './agent-client.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import { listBytes } from '../bounds.ts';

export interface ModelDependencies {
  catalogue: Catalogue;
  agents: AgentClient;
  settings: TenantSettingsClient;
}

/**
 * `GET /v1/models` and `GET /v1/models/{id}`, and the same under `/v1beta`: the names the caller may use as `model`, in
 * the shape of the client's dialect. Concurrent requests share one list if their callers see the same agents.
 */
export function modelHandlers(dependencies: ModelDependencies): Record<string, Handler> {
  const lists = new SharedCalls<UsableModels>();
  const list = async (call: Call<unknown, ModelQuery>): Promise<Reply> => {
    const actor = requestActor({ ...call, principal: tenantOf(call) });
    const models = await lists.get(actor.sees, () => listModels(dependencies, actor));
    return { body: clientSurfaces[call.dialect].models(models, call.query) };
  };
  const get = async (call: Call): Promise<Reply> => ({
    body: clientSurfaces[call.dialect].model(await getModel(dependencies, call)),
  });
  return {
    'models.list': list,
    'azure.models.list': list,
    'models.get': get,
    'gemini.models.list': list,
    'gemini.models.get': get,
  };
}

async function listModels(
  { catalogue, agents, settings }: ModelDependencies,
  actor: ProvenActor,
): Promise<UsableModels> {
  const { allowedModels } = await settings.getNow(actor.tenantId, actor);
  const list = new BoundedItems<UsableModel>(listBytes);
  const adding = addModels(list, catalogue, allowedModels);
  let complete = await runSteps(adding, (piece) => runCooperatively(actor.tenantId, piece));
  for await (const page of complete ? agents.list(actor) : []) {
    complete = list.addAll(page, fromAgent) === page.length;
    if (!complete) break;
  }
  return { models: list.items, complete };
}

/** Adds the names of models while they fit. Returns whether all did. */
function* addModels(
  list: BoundedItems<UsableModel>,
  catalogue: Catalogue,
  allowed: AllowedModels | null,
): Steps<boolean> {
  for (const entry of catalogue.models.values())
    for (const name of listedNames(entry)) {
      const usable = catalogue.entryOf(name, allowed);
      if (usable !== undefined && !list.add(fromModel(usable, name))) return false;
      yield;
    }
  return true;
}

async function getModel(
  { catalogue, agents, settings }: ModelDependencies,
  call: Call,
): Promise<UsableModel> {
  const principal = tenantOf(call);
  const id = call.params['id'] ?? '';
  const ref = agentRef(id);
  if (ref === null) {
    const { allowedModels } = await settings.getNow(principal.tenantId, call);
    const model = catalogue.find(id, allowedModels);
    if (model === undefined) throw modelNotFound(id, nearestModels(catalogue, id, allowedModels));
    return fromModel(model, id);
  }
  const actor = requestActor({ ...call, principal });
  const agent = await agents.resolve(actor, ref);
  if (agent?.status !== 'active') throw modelNotFound(id, await agents.nearest(actor, ref));
  return fromAgent(agent);
}

/** A model under the name known to the client or requested by it. */
function fromModel({ provider, max_output_tokens: most }: Model, id: string): UsableModel {
  const limit = most === undefined ? {} : { maxOutputTokens: most };
  return { id, object: 'model', created: 0, owned_by: provider.name, ...limit };
}

function fromAgent({ key, created }: AgentName): UsableModel {
  return { id: `agent:${key}`, object: 'model', created, owned_by: 'tenant' };
}
