import type { RpcContext } from '@gatehouse/grpc/server';
import { isTenantPrincipal, type TenantPrincipal } from '@gatehouse/identity/principal';
import { AppError } from '@gatehouse/kit/errors';
import type { Agent as AgentMessage } from '@gatehouse/proto/agent/v1/agent';
import type { Agent } from '../domain/agent.ts';

/** For whom the call is made; every call of this service is made for somebody. */
export function principalOf({ principal }: RpcContext): TenantPrincipal {
  if (principal !== null && isTenantPrincipal(principal)) return principal;
  throw new AppError('service_unauthenticated', 'The call names no tenant.');
}

export function toMessage(agent: Agent): AgentMessage {
  return {
    id: agent.id,
    key: agent.key,
    model: agent.model,
    modelFallbacks: agent.model_fallbacks,
    systemPrompt: agent.system_prompt,
    parametersJson: JSON.stringify(agent.parameters),
    status: agent.status,
    created: BigInt(Math.floor(agent.createdAt.getTime() / 1_000)),
  };
}
