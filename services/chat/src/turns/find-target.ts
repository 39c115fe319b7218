import { textLimits } from '@gatehouse/events/run-event';
import { affinityOf } from '../catalogue/affinity.ts';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import { ofOnePayer } from '../catalogue/payer.ts';
import {
  agentRef,
  agentTarget,
  modelNotFound,
  modelTarget,
  targetIn,
  type ResolvedAgent,
  type Target,
} from '../catalogue/target.ts';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { ProvenActor } from '../shared/actor.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

export interface TargetDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
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
  dependencies: TargetDependencies,
  asked: Asked & { api: ApiName },
): Promise<Target> {
  return targetIn(asked.api, await findNamedTarget(dependencies, asked), asked.request);
}

interface Asked {
  request: CompletionRequest;
  actor: ProvenActor;
  settings: TenantSettings;
  sessionId: string | null;
}

/** The models behind a request's `model`, in any API, of one payer. Throws 404 `model_not_found`. */
export async function findNamedTarget(dependencies: TargetDependencies, asked: Asked): Promise<Target> {
  const { userId } = asked.actor;
  return ofOnePayer(await anyPayersTarget(dependencies, asked), { keys: asked.settings.ownKeys, userId });
}

async function anyPayersTarget(
  { catalogue, agents, providers }: TargetDependencies,
  { request, actor, settings, sessionId }: Asked,
): Promise<Target> {
  const affinity = catalogue.divides ? affinityOf(actor.tenantId, sessionId, request) : null;
  const choosing = { affinity, ordered: (model: Model) => providers.ordered(model, affinity) };
  const ref = agentRef(request.model);
  if (ref === null) return modelTarget(catalogue, request.model, settings.allowedModels, choosing);
  if (request.operation !== 'chat' || request.model.length > textLimits.request_model)
    throw modelNotFound(request.model);
  const agent = await agents.resolve(actor, ref);
  if (agent === null) throw modelNotFound(request.model);
  return agentTarget(catalogue, agent, settings.allowedModels, choosing);
}
