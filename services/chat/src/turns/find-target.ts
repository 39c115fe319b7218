import { hash } from 'node:crypto';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { textLimits } from '@gatehouse/events/run-event';
import type { Catalogue, Model } from '../catalogue/catalogue.ts';
import {
  agentRef,
  agentTarget,
  forOnePayer,
  modelNotFound,
  modelTarget,
  refuseOtherModels,
  targetIn,
  type ResolvedAgent,
  type Target,
} from '../catalogue/target.ts';
import { withoutLong } from '@gatehouse/dialects/model-names';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { ProvenActor } from '../shared/actor.ts';
import type { TenantSettings } from '../shared/tenant-settings.ts';

export interface TargetDependencies {
  catalogue: Catalogue;
  providers: ProviderRegistry;
}

/** Finds the agent with an id or key; null when the caller can't see one. */
export interface AgentResolver {
  resolve: (actor: ProvenActor, ref: string) => Promise<ResolvedAgent | null>;
  /** The names, as `model` has them, of the agents most like an unknown one. */
  nearest: (actor: ProvenActor, ref: string) => Promise<string[]>;
}

/** A request with what decides its models. */
export interface TargetQuery {
  api: ApiName;
  request: CompletionRequest;
  /** The agent named in the request; null without one, and for one hidden from the caller. */
  agent: ResolvedAgent | null;
  /** Names most like that of an agent that the caller can't see. */
  nearestAgents?: readonly string[];
  actor: ProvenActor;
  settings: TenantSettings;
  sessionId: string | null;
}

/**
 * The models behind a request's `model`, of one payer and as far as they are reached in its API: those of a catalogue
 * entry, or of an agent. Throws 404 `model_not_found`, and 400 if no model is reached.
 */
export function findTarget(dependencies: TargetDependencies, query: TargetQuery): Target {
  const { api, request, actor, settings } = query;
  const payer = { keys: settings.ownKeys, userId: actor.userId };
  const target = targetIn(api, forOnePayer(anyPayersTarget(dependencies, query), payer), request);
  const { allowedModels: allowed } = settings;
  if (allowed !== null)
    refuseOtherModels(dependencies.catalogue, request.otherModels(target.defaults), {
      allowed,
      // No translation names other models.
      deployments: target.chain.filter((model) => model.api === api),
    });
  return withoutLong(request.model) === request.model ? target : { ...target, asksLong: true };
}

function anyPayersTarget(
  { catalogue, providers }: TargetDependencies,
  { request, agent, nearestAgents = [], actor, settings, sessionId }: TargetQuery,
): Target {
  const affinity = catalogue.divides ? affinityOf(actor.tenantId, sessionId, request) : null;
  const choosing = {
    affinity,
    deploymentOrder: (model: Model) => providers.deploymentOrder(model, affinity),
  };
  if (agentRef(request.model) === null)
    return modelTarget(catalogue, request.model, settings.allowedModels, choosing);
  const isTooLong = request.model.length > textLimits.request_model;
  if (request.operation !== 'chat' || isTooLong || agent === null)
    throw modelNotFound(request.model, nearestAgents);
  return agentTarget(catalogue, agent, settings.allowedModels, choosing);
}

/** Longer system prompts may be the same in many sessions, so the end of a text counts, too. */
const maxChars = 4_096;

/**
 * The name by which requests stay together at one deployment and one key, where the provider has their prompt in its
 * cache: those of one session of a tenant, else those with the same texts up to the first message of the user. Null for a
 * request with neither.
 */
export function affinityOf(
  tenantId: string,
  sessionId: string | null,
  request: Pick<CompletionRequest, 'firstTexts'>,
): string | null {
  if (sessionId !== null) return digest(cacheKey('session', tenantId, sessionId));
  const texts = request.firstTexts.flatMap((text) => [
    text.length,
    text.slice(0, maxChars),
    text.slice(Math.max(maxChars, text.length - maxChars)),
  ]);
  return texts.length === 0 ? null : digest(cacheKey('texts', tenantId, ...texts));
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
