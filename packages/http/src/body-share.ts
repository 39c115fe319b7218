import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import { announcedBytes } from './body.ts';
import { BodyBudget, type BodyShare } from './body-budget.ts';

/** The budget that a service's settings give it, with its metrics. */
export function bodyBudget(
  config: { BODY_BYTES_PER_TENANT: number; BODY_BYTES_PER_PROCESS: number },
  registry: Registry,
): BodyBudget {
  const registers = [registry];
  const refusals = new Counter({
    name: 'gatehouse_body_refusals_total',
    help: 'Requests refused because too many bytes of bodies were in memory, by the code of the error',
    labelNames: ['code'],
    registers,
  });
  const budget = new BodyBudget({
    perTenant: config.BODY_BYTES_PER_TENANT,
    perProcess: config.BODY_BYTES_PER_PROCESS,
    onRefusal: (code) => refusals.inc({ code }),
  });
  new Gauge({
    name: 'gatehouse_body_bytes',
    help: 'Bytes of request bodies in memory',
    registers,
    collect() {
      this.set(budget.inUse.bytes);
    },
  });
  return budget;
}

/** Stands for the tenant of owner keys, which have none: together they have the share of one. */
const noTenant = '';

/** Opens the share of a request's body, which is held until the response is closed. Throws as `BodyBudget.open`. */
export function openShare(
  budget: BodyBudget,
  tenantId: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): BodyShare {
  const share = budget.open(tenantId ?? noTenant, announcedBytes(request));
  response.once('close', () => share.release());
  // Its client left before: the body will not be read.
  if (response.closed) share.release();
  return share;
}
