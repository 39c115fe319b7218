import {
  isTenantPrincipal,
  type Delegation,
  type Principal,
  type TenantPrincipal,
} from '@gatehouse/identity/principal';
import type { Assertion } from '@gatehouse/identity/local-assertion';
import { AppError } from '@gatehouse/kit/errors';
import type { Logger } from '@gatehouse/kit/log';
import type { TraceContext } from '@gatehouse/kit/trace-context';
import type { ServiceDefinition } from '@grpc/grpc-js';

/** The context of an RPC. */
export interface RpcContext {
  /** The calling service, verified by its token. */
  caller: string;
  /** Whether it runs in this process. */
  isLocal: boolean;
  /** The principal the caller acts for, if it sent an assertion of the edge. */
  principal: Principal | null;
  /** The assertion or delegation itself, to be passed on. */
  assertion: Assertion | null;
  /** The rights the caller has delegated to this service, if it sent them instead of an assertion. */
  delegation: Delegation | null;
  /** When the caller stops waiting, in milliseconds since the epoch; `Infinity` if never. */
  deadline: number;
  /** Aborted when the caller cancels the call or stops waiting. */
  signal: AbortSignal;
  requestId: string;
  trace: TraceContext;
  log: Logger;
}

/** Principal inside a tenant for which a call is made. Throws without one. */
export function tenantOf({ principal }: Pick<RpcContext, 'principal'>): TenantPrincipal {
  if (principal !== null && isTenantPrincipal(principal)) return principal;
  throw new AppError('service_unauthenticated', 'The call names no tenant.');
}

/**
 * The tenant and the acting user of a call about an agent, whether its caller acts for a principal or by delegation.
 * Throws if the delegation is for another agent.
 */
export function actorOf(
  context: Pick<RpcContext, 'principal' | 'delegation'>,
  agentId: string,
): { tenantId: string; userId: string | null } {
  const { delegation } = context;
  if (delegation === null) return tenantOf(context);
  if (delegation.agentId !== agentId)
    throw new AppError('caller_not_allowed', 'The delegation is for another agent.', { param: 'agent_id' });
  return delegation;
}

export interface Rpc<Request, Response> {
  /** Services allowed to call this RPC; any other gets PERMISSION_DENIED. */
  callers: readonly string[];
  /** Whether a caller may send a delegation instead of an assertion of the edge. */
  acceptsDelegation?: true;
  handle: (request: Request, context: RpcContext) => Promise<Response>;
}

/** One entry per method of a ts-proto service definition: a missing method does not compile. */
export type RpcsOf<Definition> = {
  [Method in keyof Definition]: Definition[Method] extends {
    requestDeserialize: (bytes: Buffer) => infer Request;
    responseSerialize: (response: infer Response) => Buffer;
  }
    ? Rpc<Request, Response>
    : never;
};

/** A service of a `.proto` file and what implements it. */
export interface RpcService {
  definition: ServiceDefinition;
  rpcs: RpcsOf<ServiceDefinition>;
}

/** Pairs a ts-proto definition with its implementation: one {@link Rpc} per method. */
export function rpcService<Definition extends ServiceDefinition>(
  definition: Definition,
  rpcs: RpcsOf<Definition>,
): RpcService {
  return { definition, rpcs };
}
