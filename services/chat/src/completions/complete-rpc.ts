import { hash } from 'node:crypto';
import { assertParsable } from '@gatehouse/http/body';
import { actorOf, tenantOf, type Rpc, type RpcContext } from '@gatehouse/grpc/rpc';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CompleteRequest, CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Target } from '../catalogue/target.ts';
import type { CompletionRequest } from '../dialects/dialect.ts';
import { dialects } from '../dialects/dialects.ts';
import { delegatedActor, requestActor, type ProvenActor } from '../shared/actor.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-peer.ts';
import type { Completions } from './known-calls-job.ts';
import { findTarget, type TargetDependencies } from '../turns/find-target.ts';
import { answerAsAgent, answerInside, memoryChannel, type AgentTurnDependencies } from './inner-turn.ts';

export interface CompleteDependencies extends AgentTurnDependencies, TargetDependencies {
  signer: Signer;
  settings: TenantSettingsClient;
  completions: Completions;
}

/**
 * The call goes on when its caller stops waiting: the answer is stored, and a repeat gets it. No longer than the claim of
 * the call id.
 */
const longestMs = 10 * 60_000;

/** Fields that would change who answers, or how: the agent decides them, or the call has no use for them. */
const refused = [
  'model',
  'stream',
  'stream_options',
  'n',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
];

/**
 * `Complete`: one completion by an agent. For memory by its model alone; for webhook, which acts by delegation, with the
 * agent's prompt, memory and tools.
 */
export function complete(dependencies: CompleteDependencies): Rpc<CompleteRequest, CompleteResponse> {
  const { settings, completions } = dependencies;
  return {
    callers: ['memory', 'webhook'],
    acceptsDelegation: true,
    async handle(asked, context) {
      const { agent, callId, requestJson } = asked;
      const actor = callerOf(dependencies, context, agent);
      const { tenantId, userId, requestId, trace } = actor;
      if (!isUuid(callId))
        throw new AppError('invalid_value', 'call_id must be a UUID.', { param: 'call_id' });
      const asAgent = context.delegation === null ? null : channelOf(asked);
      const rights = asked.group === true ? withoutUser(dependencies, context, actor) : actor;
      const request = readRequest(agent, requestJson);
      const call = { tenantId, userId, callId, fingerprint: fingerprintOf(asked, userId), longestMs };
      return completions.once(call, async (store, act) => {
        const ofTenant = await settings.getForTenant(tenantId, { requestId, trace });
        const sessionId = asAgent?.sessionId ?? null;
        const asking = { api: 'chat', request, actor, settings: ofTenant, sessionId } as const;
        const target = plain(await findTarget(dependencies, asking));
        const turn = {
          request,
          actor,
          settings: ofTenant,
          signal: AbortSignal.timeout(longestMs),
          store,
        };
        if (asAgent === null)
          await answerInside(dependencies, { ...turn, target: modelOnly(target), channel: memoryChannel });
        else await answerAsAgent(dependencies, { ...turn, target, rights, act, ...asAgent });
      });
    },
  };
}

/** SHA-256 of everything that defines the request. */
function fingerprintOf(
  { agent, requestJson, channel, sessionId }: CompleteRequest,
  userId: string | null,
): Buffer {
  const ofWebhook = channel === undefined ? [] : [channel, sessionId ?? null];
  return hash('sha256', JSON.stringify([userId, agent, requestJson, ...ofWebhook]), 'buffer');
}

function channelOf({ channel = '', sessionId }: CompleteRequest): {
  channel: string;
  sessionId: string | null;
} {
  if (!/^[a-z_]{1,32}$/.test(channel) || channel === memoryChannel)
    throw new AppError('invalid_value', 'Invalid channel.', { param: 'channel' });
  return { channel, sessionId: sessionId ?? null };
}

function callerOf({ signer }: CompleteDependencies, context: RpcContext, agent: string): ProvenActor {
  const { caller, assertion, delegation } = context;
  if ((caller === 'webhook') !== (delegation !== null))
    throw new AppError('caller_not_allowed', `The ${caller} service may not act by this assertion.`);
  if (delegation === null)
    return requestActor({ ...context, principal: tenantOf(context), assertion: assertion ?? '' });
  actorOf(context, agent);
  return delegatedActor(signer, delegation, context);
}

/** In a group the memory of the agent counts, and that of no user. */
function withoutUser({ signer }: CompleteDependencies, context: RpcContext, actor: ProvenActor): ProvenActor {
  const { delegation } = context;
  return delegation === null ? actor : delegatedActor(signer, { ...delegation, userId: null }, context);
}

function readRequest(agent: string, requestJson: string): CompletionRequest {
  const text = requestJson.trim();
  const given = parse(text);
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new AppError('invalid_type', 'request_json must be a JSON object.', { param: 'request_json' });
  for (const param of refused)
    if (Object.hasOwn(given, param))
      throw new AppError('unknown_parameter', `The field ${param} is not allowed here.`, { param });
  const model = `agent:${agent}`;
  const members = text.slice(1);
  const separator = members.trimStart() === '}' ? '' : ',';
  const body = Buffer.from(`{"model":${JSON.stringify(model)}${separator}${members}`);
  return dialects.chat.readRequest('chat', body, { model, ...given });
}

function parse(text: string): unknown {
  assertParsable(Buffer.from(text), 'request_json');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_json', 'request_json is not valid JSON.', {
      param: 'request_json',
      cause: error,
    });
  }
}

/** Without parameters of the agent that have no use here. */
function plain(target: Target): Target {
  const defaults = Object.entries(target.defaults).filter(([name]) => !refused.includes(name));
  return { ...target, defaults: Object.fromEntries(defaults) };
}

function modelOnly(target: Target): Target {
  return { ...target, systemPrompt: null, memory: null };
}
