import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { cappedPico } from '@gatehouse/kit/money';
import type { Ask, Grant, LeaseRequest, LeaseResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { Granted, LeaseSystemStore, ResourceAsk } from './lease-system-store.ts';
import { fromWire } from './wire-resources.ts';

/** Leases amounts of a tenant's limits to a replica of chat. */
export function lease(leases: LeaseSystemStore): Rpc<LeaseRequest, LeaseResponse> {
  return {
    callers: ['chat'],
    handle: async ({ holderId, sequence, tenantId, asks }) => {
      const read = asks.map(readAsk);
      if (![holderId, tenantId, ...read.map((ask) => ask.subjectId)].every(isUuid))
        throw new AppError('invalid_value', 'The ids of holder, tenant and subjects must be UUIDs.');
      const granted = await leases.lease({ id: holderId, sequence }, tenantId, read);
      return { grants: granted.map(showGrant) };
    },
  };
}

function readAsk(ask: Ask): ResourceAsk {
  const resource = fromWire(ask.resource);
  const amounts = [ask.holding, ...ask.needs];
  if (resource === null || amounts.some((amount) => amount < 0n))
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
    needs: ask.needs,
  };
}

function showGrant(granted: Granted | null): Grant {
  if (granted === null)
    return { windowStart: 0n, granted: 0n, remaining: 0n, resetsInMs: 0n, validForMs: 0n };
  const { lease: leased } = granted;
  return {
    limit: granted.limit,
    windowStart: BigInt(leased.name),
    granted: leased.granted,
    ...(granted.resource === 'budget' && { spent: cappedPico(leased.used) }),
    remaining: leased.remaining,
    resetsInMs: BigInt(Math.ceil(granted.resetsInMs)),
    validForMs: BigInt(Math.floor(granted.validForMs)),
  };
}
