import type { TurnSettings } from '@gatehouse/contract/agents';
import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import { AppError } from '@gatehouse/kit/errors';
import { picoOf } from '@gatehouse/kit/money';
import type { RunFacts } from '@gatehouse/kit/policy-matching';
import { nearestSentence } from '@gatehouse/kit/nearest-names';
import type { Agent as AgentMessage } from '@gatehouse/proto/agent/v1/agent';
import type { CompletionRequest, Operation } from '@gatehouse/dialects/dialect';
import type { OtherModel } from '@gatehouse/dialects/request-fields';
import type { ApiName } from '@gatehouse/dialects/dialects';
import { deploymentsOf, type Catalogue, type Model } from './catalogue.ts';
import { nearestModels } from './nearest-models.ts';
import { withoutLong } from '@gatehouse/dialects/model-names';
import type { TenantProviderKey } from '../shared/tenant-settings.ts';
import { maxOtherModels } from '../bounds.ts';
import { hasEmbeddings, hasModerations, type Provider } from './provider-schema.ts';

/** An agent as the agent service resolves it: the fields of its message, with the parameters parsed. */
export interface ResolvedAgent extends Omit<
  AgentMessage,
  'parametersJson' | 'created' | 'memory' | 'tools' | 'settingsJson'
> {
  settings: TurnSettings;
  parameters: Record<string, unknown>;
  /** Seconds since the epoch. */
  created: number;
}

/** An agent in a list. */
export type AgentName = Pick<ResolvedAgent, 'key' | 'created'>;

/** The models for a request in the order they are tried, and what an agent adds. */
export interface Target {
  chain: readonly [Model, ...Model[]];
  /** Whether the request asks for a context of a million tokens, by `[1m]` behind the model's name. */
  asksLong?: boolean;
  /** Name of the session to keep together, as made by `affinityOf`; null where unknown or not needed. */
  affinity: string | null;
  agentId: string | null;
  /** Absent without an agent. */
  agentKey?: string;
  systemPrompt: string | null;
  defaults: Record<string, unknown>;
  /** The tenant's own keys by which its models are called; null where the platform's are used. */
  ownKeys: ReadonlyMap<Model, TenantProviderKey> | null;
  /** Null without an agent, and for agents with memory off. */
  memory: TurnSettings['memory'];
  /** Passages from memory, put before the message of the client with this index. */
  reference: { index: number; content: string } | null;
  /** Null without an agent, and for agents without tools. */
  tools: { maxIterations: number; maxCostPico: bigint | null; analyser: string } | null;
}

/** The properties of a run by which policies and guardrails select it. */
export function runFactsOf({
  actor: { userId, groups, apiKeyId },
  target: { agentId, agentKey = '', ownKeys },
  sessionId,
}: {
  actor: Pick<RunFacts, 'userId' | 'groups' | 'apiKeyId'>;
  target: Pick<Target, 'agentId' | 'agentKey' | 'ownKeys'>;
  sessionId: string | null;
}): RunFacts {
  return {
    ...{ userId, groups, apiKeyId, sessionId },
    agent: agentId === null ? null : { id: agentId, key: agentKey },
    ownKey: ownKeys !== null,
  };
}

/** Texts added by the gateway to the client's messages. */
export function addedTexts({ systemPrompt, reference }: Target): string[] {
  return [systemPrompt, reference?.content].filter((text) => typeof text === 'string');
}

/** The agent's id or key in a `model` of the form `agent:<ref>`, or null for a catalogue model. */
export function agentRef(model: string): string | null {
  return model.startsWith('agent:') ? withoutLong(model.slice('agent:'.length)) : null;
}

/** `nearest`: names most like it that the caller may use. */
export function modelNotFound(model: string, nearest: readonly string[], param = 'model'): AppError {
  const name = JSON.stringify(model.slice(0, 256));
  const message = `The model ${name} does not exist.${nearestSentence(nearest)}`;
  return new AppError('model_not_found', message, { param });
}

/**
 * Throws `model_not_found` for a model barred to the tenant that the provider may call beside the request's own.
 * `deployments`: those that get their names.
 */
export function refuseOtherModels(
  catalogue: Catalogue,
  models: readonly OtherModel[],
  { allowed, deployments }: { allowed: AllowedModels | null; deployments: readonly Model[] },
): void {
  if (allowed === null || deployments.length === 0) return;
  const providers = new Set(deployments.map(({ provider }) => provider.name));
  const known = new Set<string>();
  const barred = models.find(({ name }, index) => {
    if (index >= maxOtherModels) return true;
    if (!known.has(name) && !catalogue.reaches(name, allowed, providers)) return true;
    known.add(name);
    return false;
  });
  if (barred !== undefined)
    throw modelNotFound(barred.name, nearestModels(catalogue, barred.name, allowed), barred.param);
}

/** The choice of deployments for a request. */
export interface Choosing {
  affinity: string | null;
  /** The deployments of a model in the order in which they are called. */
  deploymentOrder: (model: Model) => readonly Model[];
}

/** All deployments as the file has them. */
export const asListed: Choosing = { affinity: null, deploymentOrder: deploymentsOf };

/** A catalogue model with its fallbacks. Throws `model_not_found`, also for a model barred to the tenant. */
export function modelTarget(
  catalogue: Catalogue,
  name: string,
  allowed: AllowedModels | null,
  choosing = asListed,
): Target {
  const model = catalogue.find(name, allowed);
  if (model === undefined) throw modelNotFound(name, nearestModels(catalogue, name, allowed));
  return targetOf([model, ...fallbacksOf(catalogue, model.fallbacks, allowed)], choosing);
}

/**
 * The target without models unavailable in the request's API: completions are translated to any. Throws a 400 if no
 * model is left: the error of the first one.
 */
export function targetIn(
  api: ApiName,
  target: Target,
  request: Pick<CompletionRequest, 'operation' | 'refusalIn'>,
): Target {
  const { operation } = request;
  if (operation === 'chat') return target;
  const has = operation === 'embeddings' ? hasEmbeddings : hasModerations;
  const refusals = target.chain.map((model) => {
    if (model.api !== api && request.refusalIn === undefined) return otherApi(model);
    const refusal = model.api === api ? null : request.refusalIn?.(model);
    return refusal ?? (has(model.provider, model) ? null : lacking(model, operation));
  });
  const [first, ...others] = target.chain.filter((_model, index) => refusals[index] === null);
  if (first !== undefined) return { ...target, chain: [first, ...others] };
  throw refusals[0] ?? otherApi(target.chain[0]);
}

function otherApi({ id, api }: Model): AppError {
  return new AppError('unsupported_parameter', `The model ${id} can't be asked in this API, but in ${api}.`, {
    param: 'model',
  });
}

function lacking({ id }: Model, operation: Operation): AppError {
  return new AppError('unsupported_parameter', `The model ${id} has no ${operation}.`, { param: 'model' });
}

/** The target with only its models at one provider, which must have one. */
export function atProvider(target: Target, { name }: Provider): Target {
  const [first, ...others] = target.chain.filter(({ provider }) => provider.name === name);
  if (first === undefined) throw new Error(`no model of the target is at the provider ${name}`);
  return { ...target, chain: [first, ...others] };
}

/** A catalogue model without its fallbacks. */
export function soleTarget(model: Model, choosing = asListed): Target {
  return targetOf([model], choosing);
}

/** Puts the deployments of the target's first model at a provider before that model's others. */
export function startingAt(target: Target, name: string): Target {
  const { id } = target.chain[0];
  const isThere = ({ id: modelId, provider }: Model): boolean => modelId === id && provider.name === name;
  const [first, ...others] = target.chain.toSorted((a, b) => Number(isThere(b)) - Number(isThere(a)));
  return first === undefined ? target : { ...target, chain: [first, ...others] };
}

/** The deployments of each model in turn, and no agent. */
function targetOf(models: readonly Model[], { affinity, deploymentOrder }: Choosing): Target {
  const [first, ...others] = [...new Set(models)].flatMap(deploymentOrder);
  if (first === undefined) throw new Error('a model has no deployment');
  return {
    chain: [first, ...others],
    affinity,
    agentId: null,
    systemPrompt: null,
    defaults: {},
    memory: null,
    reference: null,
    tools: null,
    ownKeys: null,
  };
}

/** An agent's models and settings. Its own fallbacks replace those of its model. */
export function agentTarget(
  catalogue: Catalogue,
  agent: ResolvedAgent,
  allowed: AllowedModels | null,
  choosing = asListed,
): Target {
  if (agent.status !== 'active')
    throw new AppError('agent_disabled', `The agent ${agent.key} is disabled.`, { param: 'model' });
  const model = catalogue.find(agent.model, allowed);
  if (model === undefined) throw modelNotFound(agent.model, nearestModels(catalogue, agent.model, allowed));
  const fallbacks = agent.modelFallbacks.length > 0 ? agent.modelFallbacks : model.fallbacks;
  return {
    ...targetOf([model, ...fallbacksOf(catalogue, fallbacks, allowed)], choosing),
    agentId: agent.id,
    agentKey: agent.key,
    systemPrompt: agent.systemPrompt === '' ? null : agent.systemPrompt,
    defaults: agent.parameters,
    memory: agent.settings.memory?.enabled === true ? agent.settings.memory : null,
    tools: toolSettings(agent.settings),
  };
}

function toolSettings({ tools, memory }: TurnSettings): Target['tools'] {
  if (tools === null) return null;
  const { max_iterations: maxIterations, max_cost_usd: maxCost } = tools;
  const analyser = memory?.analyser ?? '';
  return { maxIterations, maxCostPico: maxCost === null ? null : picoOf(maxCost), analyser };
}

function fallbacksOf(catalogue: Catalogue, names: readonly string[], allowed: AllowedModels | null): Model[] {
  return names.map((name) => catalogue.find(name, allowed)).filter((model) => model !== undefined);
}

/**
 * The target with the models of one payer: the tenant where it has a key of its own for a deployment of the first model,
 * else the platform. So no failure of a key of the tenant costs the platform a call, and no budget counts a run in part.
 */
export function forOnePayer(
  target: Target,
  { keys, userId }: { keys: readonly TenantProviderKey[]; userId: string | null },
): Target {
  if (keys.length === 0) return target;
  const choices = target.chain.map((model) => ({ model, key: ownKeyFor(model, keys, userId) }));
  const [first] = target.chain;
  const isOwn = choices.some(({ model, key }) => model.id === first.id && key !== null);
  const [one, ...others] = choices.filter(({ key }) => (key !== null) === isOwn);
  // The first model has a deployment of its payer.
  if (one === undefined) return target;
  const chain = [one.model, ...others.map(({ model }) => model)] as const;
  if (!isOwn) return { ...target, chain };
  const ownKeys = new Map(choices.flatMap(({ model, key }) => (key === null ? [] : [[model, key] as const])));
  return { ...target, chain, ownKeys };
}

/** The key of a tenant for a model: one for the user before one for all, then the newest. */
function ownKeyFor(
  { id, provider }: Model,
  keys: readonly TenantProviderKey[],
  userId: string | null,
): TenantProviderKey | null {
  const fitting = keys.filter(
    (key) =>
      key.provider === provider.name &&
      (key.userId === null || key.userId === userId) &&
      (key.models?.has(id) ?? true),
  );
  return fitting.find((key) => key.userId !== null) ?? fitting[0] ?? null;
}
