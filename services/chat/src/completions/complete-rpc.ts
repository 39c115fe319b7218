import { hash } from 'node:crypto';
import { parseBody, readPart } from '@gatehouse/http/body';
import { closeBrace, skipSpace } from '@gatehouse/kit/json-bytes';
import { actorOf, tenantOf, type Rpc, type RpcContext } from '@gatehouse/grpc/rpc';
import type { Signer } from '@gatehouse/identity/signer';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CompleteRequest, CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Target } from '../catalogue/target.ts';
import type { CompletionRequest } from '@gatehouse/dialects/dialect';
import { dialects } from '@gatehouse/dialects/dialects';
import { groupsOfUser, type FindUser } from '../shared/acting-user.ts';
import { delegatedActor, requestActor, type ProvenActor } from '../shared/actor.ts';
import type { Guardrails } from '../guardrails/guardrails.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import type { TenantSettingsClient } from '../shared/tenant-settings-client.ts';
import type { CompletionCache } from './completion-cache.ts';
import { findTarget, type AgentResolver, type TargetDependencies } from '../turns/find-target.ts';
import { LargeWork } from '../shared/large-work.ts';
import {
  answerInside,
  charged,
  memoryChannel,
  type InnerTurn,
  type InnerTurnDependencies,
} from './inner-turn.ts';
import { limitsTokens } from '../limits/counted-prompts.ts';
import { guardedRequest } from './guarded-request.ts';
import { requestFacts } from './request-facts.ts';
import type { TenantShare } from '@gatehouse/kit/body-budget';

export interface CompleteDependencies extends InnerTurnDependencies, TargetDependencies {
  agents: AgentResolver;
  signer: Signer;
  settings: TenantSettingsClient;
  completions: CompletionCache;
  findUser: FindUser;
  guardrails: Guardrails;
}

/**
 * The call goes on when its caller stops waiting: the answer is stored, and a repeat gets it. No longer than the claim of
 * the call id.
 */
const longestMs = 10 * 60_000;

/** Fields with a say in who answers, or how: the agent decides these, or the call has no use for them. */
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
  const { completions } = dependencies;
  return {
    callers: ['memory', 'webhook'],
    acceptsDelegation: true,
    async handle(request, context) {
      const { agent, callId, requestJson } = request;
      const actor = callerOf(dependencies, context, agent);
      const { tenantId, userId, requestId, trace } = actor;
      if (!isUuid(callId))
        throw new AppError('invalid_value', 'call_id must be a UUID.', { param: 'call_id' });
      const asAgent = context.delegation === null ? null : channelOf(request);
      const member = request.group === true ? withoutUser(dependencies, context, actor) : actor;
      const call = { tenantId, userId, callId, fingerprint: fingerprintOf(request, userId), longestMs };
      return completions.once(call, async (store, act) => {
        const tenantSettings = await dependencies.settings.getForTenant(tenantId, { requestId, trace });
        // Texts of memory are stored, and forgotten, there.
        const settings = asAgent === null ? { ...tenantSettings, previewChars: 0 } : tenantSettings;
        // Memory also works for no user, and for users of earlier requests.
        const { hasUsers } = settings;
        const actingUsers = asAgent === null ? 'any' : settings.actingUsers;
        const groups = await groupsOfUser(dependencies.findUser, { hasUsers, actingUsers }, actor);
        // The message of the call, and the request made of it.
        const bytes = 2 * Buffer.byteLength(requestJson);
        await charged(dependencies.bodyBudget, { tenantId, bytes }, async (share) => {
          const signal = AbortSignal.timeout(longestMs);
          const accepted = await acceptedRequest(dependencies, {
            ...{ agent, requestJson, actor, settings, asAgent, share, signal },
          });
          const turn = {
            ...accepted,
            share,
            actor: { ...actor, groups },
            settings,
            signal,
            store,
            channel: memoryChannel,
          };
          await answerInside(dependencies, asAgent === null ? turn : { ...turn, ...asAgent, member, act });
        });
      });
    },
  };
}

interface CompleteCall {
  agent: string;
  requestJson: string;
  actor: ProvenActor;
  settings: KeySettings;
  /** Null for a call of memory. */
  asAgent: { channel: string; sessionId: string | null } | null;
  share: TenantShare;
  signal: AbortSignal;
}

/** The request and its models. The values of a large one are in memory while it is read here, and no longer. */
async function acceptedRequest(
  dependencies: CompleteDependencies,
  { agent: ref, requestJson, actor, settings, asAgent, share, signal }: CompleteCall,
): Promise<Pick<InnerTurn, 'facts' | 'parts' | 'sent' | 'source' | 'target' | 'guardrails' | 'reread'>> {
  const { tenantId } = actor;
  const bytes = Buffer.byteLength(requestJson);
  // The agent service is asked before the turn of large requests. Its error is thrown where the agent is needed.
  const lookUp = dependencies.agents.resolve(actor, ref);
  await Promise.allSettled([lookUp]);
  return LargeWork.during({ tenantId, bytes }, async () => {
    const { request, body } = await readRequest(ref, Buffer.from(requestJson), tenantId);
    const sessionId = asAgent?.sessionId ?? null;
    const query = { api: 'chat', request, agent: await lookUp, actor, settings, sessionId } as const;
    const named = plain(findTarget(dependencies, query));
    const target = asAgent === null ? modelOnly(named) : named;
    const { guardrails, text: sent } = await guardedRequest(dependencies.guardrails, {
      ...{
        dialect: dialects.chat,
        actor,
        settings,
        target,
        sessionId,
        text: body,
        sent: body,
        isOlder: asAgent === null,
        share,
        signal,
      },
    });
    const passed = sent === body ? request : await readAgain(sent, tenantId);
    const { previewChars } = settings;
    const facts = requestFacts(passed, { target, previewChars });
    const parts = limitsTokens(settings) ? passed.promptParts() : null;
    const reread: InnerTurn['reread'] = async (text) => {
      const changed = await readAgain(text, tenantId);
      return { facts: requestFacts(changed, { target, previewChars }), source: changed.source(share) };
    };
    return { target, facts, parts, sent, source: passed.source(share), guardrails, reread };
  });
}

/** SHA-256 of the whole definition of the request. */
function fingerprintOf(
  { agent, requestJson, channel, sessionId }: CompleteRequest,
  userId: string | null,
): Buffer {
  const webhookParts = channel === undefined ? [] : [channel, sessionId ?? null];
  return hash('sha256', JSON.stringify([userId, agent, requestJson, ...webhookParts]), 'buffer');
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

/** In a group the memory of the agent counts, and no user's. */
function withoutUser({ signer }: CompleteDependencies, context: RpcContext, actor: ProvenActor): ProvenActor {
  const { delegation } = context;
  return delegation === null ? actor : delegatedActor(signer, { ...delegation, userId: null }, context);
}

const requestJsonParam = { what: 'request_json', param: 'request_json' };

async function readRequest(
  agent: string,
  text: Buffer,
  tenantId: string,
): Promise<{ request: CompletionRequest; body: Buffer }> {
  const fields = await parseBody(text, tenantId, requestJsonParam);
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new AppError('invalid_type', 'request_json must be a JSON object.', { param: 'request_json' });
  for (const param of refused)
    if (Object.hasOwn(fields, param))
      throw new AppError('unknown_parameter', `The field ${param} is not allowed here.`, { param });
  const model = `agent:${agent}`;
  const members = text.subarray(text.indexOf('{') + 1);
  const separator = members[skipSpace(members, 0)] === closeBrace ? '' : ',';
  const body = Buffer.concat([Buffer.from(`{"model":${JSON.stringify(model)}${separator}`), members]);
  const read = () => dialects.chat.readRequest('chat', body, { model, ...fields });
  return { request: await readPart(body, tenantId, read), body };
}

/** Reads a request with changes of guardrails. */
async function readAgain(body: Buffer, tenantId: string): Promise<CompletionRequest> {
  const fields = await parseBody(body, tenantId);
  return readPart(body, tenantId, () => dialects.chat.readRequest('chat', body, fields));
}

/** Leaves out the agent's parameters without a use here. */
function plain(target: Target): Target {
  const defaults = Object.entries(target.defaults).filter(([name]) => !refused.includes(name));
  return { ...target, defaults: Object.fromEntries(defaults) };
}

function modelOnly(target: Target): Target {
  return { ...target, systemPrompt: null, memory: null, tools: null };
}
