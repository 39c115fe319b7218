import { hash } from 'node:crypto';
import { tenantOf, type Rpc, type RpcContext } from '@gatehouse/grpc/server';
import { hasMoreValues } from '@gatehouse/kit/json-size';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { CompleteRequest, CompleteResponse } from '@gatehouse/proto/chat/v1/chat';
import type { Target } from '../catalogue/target.ts';
import { readChatRequest, type CompletionRequest } from '../openai/completion-request.ts';
import type { AgentCaller } from '../peers/agents.ts';
import type { TenantSettingsClient } from '../peers/tenant-settings.ts';
import type { Completions } from '../runs/completions.ts';
import { findTarget, type TargetDependencies } from '../turns/find-target.ts';
import { answerInside, memoryChannel, type InnerTurnDependencies } from './inner-turn.ts';

export interface CompleteDependencies extends InnerTurnDependencies, TargetDependencies {
  settings: TenantSettingsClient;
  completions: Completions;
}

/**
 * The call goes on when its caller stops waiting: the answer is stored, and a repeat gets it. No longer than the claim of
 * the call id.
 */
const longestMs = 10 * 60_000;
const maxJsonValues = 100_000;

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

/** `Complete`: one completion by the model of an agent, without its prompt, memory and tools. */
export function complete(dependencies: CompleteDependencies): Rpc<CompleteRequest, CompleteResponse> {
  const { settings, completions } = dependencies;
  return {
    callers: ['memory'],
    async handle({ agent, callId, requestJson }, context) {
      const caller = callerOf(context);
      const { principal, requestId, trace } = caller;
      const { tenantId, actingUser: userId } = principal;
      if (!isUuid(callId))
        throw new AppError('invalid_value', 'call_id must be a UUID.', { param: 'call_id' });
      const request = readRequest(agent, requestJson);
      const fingerprint = hash('sha256', JSON.stringify([userId, agent, requestJson]), 'buffer');
      return completions.once({ tenantId, userId, callId, fingerprint, longestMs }, async (store) => {
        const ofTenant = await settings.getForTenant(tenantId, { requestId, trace });
        const target = await findTarget(dependencies, { request, caller, settings: ofTenant });
        await answerInside(dependencies, {
          request,
          caller: { tenantId, userId, requestId, trace },
          settings: ofTenant,
          target: bare(target),
          channel: memoryChannel,
          signal: AbortSignal.timeout(longestMs),
          store,
        });
      });
    },
  };
}

function callerOf(context: RpcContext): AgentCaller {
  const { assertion, requestId, trace } = context;
  return { principal: tenantOf(context), assertion: assertion ?? '', requestId, trace };
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
  return readChatRequest(body, { model, ...given });
}

function parse(text: string): unknown {
  if (hasMoreValues(Buffer.from(text), maxJsonValues))
    throw new AppError('payload_too_large', `request_json has more than ${maxJsonValues} JSON values.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('invalid_json', 'request_json is not valid JSON.', {
      param: 'request_json',
      cause: error,
    });
  }
}

/** The agent's models and parameters only. */
function bare(target: Target): Target {
  const defaults = Object.entries(target.defaults).filter(([name]) => !refused.includes(name));
  return { ...target, systemPrompt: null, memory: null, defaults: Object.fromEntries(defaults) };
}
