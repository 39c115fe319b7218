import type { IncomingMessage, ServerResponse } from 'node:http';
import { counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import { AnonymousBudget, type AnonymousShare } from './anonymous-budget.ts';
import { announcedBytes } from './body.ts';
import { BodyBudget, type BodyShare, type TenantShare } from '@gatehouse/kit/body-budget';

/** Creates the body budget of a service and its metrics. */
export function bodyBudget(
  config: { BODY_BYTES_PER_TENANT: number; BODY_BYTES_PER_PROCESS: number },
  registry: Registry,
): BodyBudget {
  const registers = [registry];
  const refusals = counter(
    registry,
    'gatehouse_body_refusals_total',
    'Requests refused because too many bytes of bodies were in memory, by the code of the error',
    ['code'],
  );
  const budget = new BodyBudget({
    perTenant: config.BODY_BYTES_PER_TENANT,
    perProcess: config.BODY_BYTES_PER_PROCESS,
    onRefusal: (code) => refusals.inc({ code }),
  });
  new Gauge({
    name: 'gatehouse_body_bytes',
    help: 'Bytes of request bodies and their copies in memory',
    registers,
    collect() {
      this.set(budget.inUse.bytes);
    },
  });
  return budget;
}

/** Creates the budget of requests without a key, and its metric. */
export function anonymousBudget(registry: Registry): AnonymousBudget {
  const registers = [registry];
  const refusals = counter(
    registry,
    'gatehouse_anonymous_refusals_total',
    'Requests without a key refused because too many of their network or of all were in memory, by the code of the error',
    ['code'],
  );
  const budget = new AnonymousBudget((code) => refusals.inc({ code }));
  new Gauge({
    name: 'gatehouse_anonymous_bytes',
    help: 'Bytes of requests without a key in memory that are not verified yet',
    registers,
    collect() {
      this.set(budget.inUse.bytes);
    },
  });
  return budget;
}

/** Stands for the missing tenant of owner keys, which all share one tenant budget. */
const noTenant = '';

/** Opens the share of a request body; it is released when the response closes. */
export function openShare(
  budget: BodyBudget,
  tenantId: string | null,
  response: ServerResponse,
): TenantShare {
  return untilClose(budget.open(tenantId ?? noTenant, null), response);
}

/** Opens the share of a request without a key; it is released when the response closes. Throws like `AnonymousBudget.open`. */
export function openAnonymousShare(
  budget: AnonymousBudget,
  address: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): AnonymousShare {
  return untilClose(budget.open(address ?? '', announcedBytes(request)), response);
}

/**
 * Charges a body to its tenant once known, instead of the anonymous budget. Released when the response closes. Throws
 * like `BodyBudget.open`.
 */
export function chargeTenant(
  budget: BodyBudget,
  tenantId: string,
  { share, bytes, response }: { share: AnonymousShare; bytes: number; response: ServerResponse },
): TenantShare {
  const charged = untilClose(budget.open(tenantId, bytes), response);
  charged.grow(bytes);
  share.release();
  return charged;
}

function untilClose<Share extends BodyShare>(share: Share, response: ServerResponse): Share {
  response.once('close', () => share.release());
  // The client has already disconnected: the body will not be read.
  if (response.closed) share.release();
  return share;
}
