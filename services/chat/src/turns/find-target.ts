import { textLimits } from '@gatehouse/events/run-event';
import type { Catalogue } from '../catalogue/catalogue.ts';
import {
  agentRef,
  agentTarget,
  modelNotFound,
  modelTarget,
  targetIn,
  type ResolvedAgent,
  type Target,
} from '../catalogue/target.ts';
import type { CompletionRequest } from '../dialects/dialect.ts';
import type { ApiName } from '../dialects/dialects.ts';
import type { ProvenActor } from '../shared/actor.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

export interface TargetDependencies {
  catalogue: Catalogue;
  agents: {
    /** The agent with this id or key; null when the caller can't see one. */
    resolve: (actor: ProvenActor, ref: string) => Promise<ResolvedAgent | null>;
  };
}

/**
 * The models behind a request's `model`, as far as they are reached in its API: those of a catalogue entry, or of an
 * agent. Throws 404 `model_not_found`, and 400 if none is.
 */
export async function findTarget(
  { catalogue, agents }: TargetDependencies,
  asked: { api: ApiName; request: CompletionRequest; actor: ProvenActor; settings: TenantSettings },
): Promise<Target> {
  return targetIn(asked.api, await findNamedTarget({ catalogue, agents }, asked), asked.request);
}

/** The models behind a request's `model`, in any API. Throws 404 `model_not_found`. */
export async function findNamedTarget(
  { catalogue, agents }: TargetDependencies,
  asked: { request: CompletionRequest; actor: ProvenActor; settings: TenantSettings },
): Promise<Target> {
  const { request, actor, settings } = asked;
  const ref = agentRef(request.model);
  if (ref === null) return modelTarget(catalogue, request.model, settings.allowedModels);
  if (request.operation !== 'chat' || request.model.length > textLimits.request_model)
    throw modelNotFound(request.model);
  const agent = await agents.resolve(actor, ref);
  if (agent === null) throw modelNotFound(request.model);
  return agentTarget(catalogue, agent, settings.allowedModels);
}
