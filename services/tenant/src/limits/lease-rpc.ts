import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { cappedPico } from '@gatehouse/kit/money';
import { sessionBudgetPolicyId } from '@gatehouse/kit/session-budget';
import {
  Resource as WireResource,
  type Ask,
  type Grant,
  type LeaseRequest,
  type LeaseResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import { maxCounterValue } from '../bounds.ts';
import type { Granted, ResourceAsk } from './lease-store.ts';
import type { LeaseSystemStore } from './lease-system-store.ts';
import { limitName, type Demand } from './leases.ts';
import type { PolicyCounter } from './policy-counters.ts';
import { fromWire } from './wire-resources.ts';

/** Leases amounts of a tenant's limits to a replica of chat. */
export function lease(leases: LeaseSystemStore): Rpc<LeaseRequest, LeaseResponse> {
  return {
    callers: ['chat'],
    handle: async ({ holderId, sequence, tenantId, ...request }) => {
      const asks = request.asks.map(readAsk);
      if (![holderId, tenantId, ...asks.map((ask) => ask.subjectId)].every(isUuid))
        throw new AppError('invalid_value', 'The ids of holder, tenant and subjects must be UUIDs.');
      if (new Set(asks.map(limitName)).size < asks.length)
        throw new AppError('invalid_value', 'A request must name each limit once.');
      const holder = { id: holderId, sequence };
      const granted = await leases.lease(holder, tenantId, { asks, demands: readDemands(request) });
      return { grants: granted.map(showGrant) };
    },
  };
}

/** The previous release of chat has no demands: each need is one of its own. */
function readDemands({ asks, demands }: Pick<LeaseRequest, 'asks' | 'demands'>): Demand[] {
  const read =
    demands.length > 0
      ? demands.map(({ needs }) => needs)
      : asks.flatMap(({ needs }, ask) => needs.map((amount) => [{ ask, amount }]));
  if (!read.flat().every(({ ask, amount }) => ask < asks.length && amount >= 0n))
    throw new AppError('invalid_value', 'A need must be of an ask, and must not be negative.');
  return read;
}

function readAsk(ask: Ask): ResourceAsk {
  const resource = fromWire(ask.resource);
  const counter = readCounter(ask);
  if (resource === null || ask.holding < 0n)
    throw new AppError(
      'invalid_value',
      'An ask must name a known resource, and amounts must not be negative.',
    );
  return {
    subjectId: ask.subjectId,
    resource,
    windowStart: Number(ask.windowStart),
    returned: ask.returned,
    holding: ask.holding,
    ...(counter !== null && { counter }),
  };
}

/** The counter of an ask; null for a limit of the tenant or of a key. */
function readCounter({
  resource,
  policyId,
  value = '',
  userId,
  groups,
  apiKeyId,
  sessionBudget,
}: Ask): PolicyCounter | null {
  if (policyId === undefined) return null;
  const ids = [policyId, ...groups, ...(apiKeyId === undefined ? [] : [apiKeyId])];
  if (!ids.every(isUuid) || value.length > maxCounterValue || resource === WireResource.COUNTS)
    throw new AppError(
      'invalid_value',
      'An ask of a policy must have ids that are UUIDs, and a short value.',
    );
  const counter = { policyId, value, userId: userId ?? null, groups, apiKeyId: apiKeyId ?? null };
  if (sessionBudget === undefined) return counter;
  if (policyId !== sessionBudgetPolicyId || resource !== WireResource.BUDGET || sessionBudget < 0n)
    throw new AppError('invalid_value', 'Only the budget of a session is set by an ask.');
  return { ...counter, sessionBudget };
}

function showGrant(granted: Granted | null): Grant {
  if (granted === null)
    return { windowStart: 0n, granted: 0n, remaining: 0n, resetsInMs: 0n, validForMs: 0n };
  const { lease: leased } = granted;
  return {
    ...(granted.isFull && { tooManyCounters: true }),
    ...(!granted.chargesOnly && { limit: granted.limit }),
    windowStart: BigInt(leased.name),
    granted: leased.granted,
    ...(granted.resource === 'budget' && { spent: cappedPico(leased.used) }),
    remaining: leased.remaining,
    resetsInMs: BigInt(Math.ceil(granted.resetsInMs)),
    validForMs: BigInt(Math.floor(granted.validForMs)),
  };
}
