import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, type Registry } from '@gatehouse/kit/metrics';
import { announcedBytes } from './body.ts';
import { BodyBudget, type BodyShare } from './body-budget.ts';

/** Creates the body budget of a service and its metrics. */
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

/** Bodies of one address, and of all, that are in memory before anything proves who sends them. */
const anonymousBytes = { perAddress: 4 * 1024 * 1024, all: 32 * 1024 * 1024 };

/** The body budget of routes without a key: by client address, apart from the budget of tenants. */
export function anonymousBodyBudget(): BodyBudget {
  return new BodyBudget({ perTenant: anonymousBytes.perAddress, perProcess: anonymousBytes.all });
}

/** Stands for the missing tenant of owner keys, which all share one tenant budget. */
const noTenant = '';

/** Opens the share of a request body; it is released when the response closes. Throws like `BodyBudget.open`. */
export function openShare(
  budget: BodyBudget,
  /** The tenant, or the client's address in a budget of {@link anonymousBodyBudget}. */
  payer: string | null,
  request: IncomingMessage,
  response: ServerResponse,
): BodyShare {
  const share = budget.open(payer ?? noTenant, announcedBytes(request));
  response.once('close', () => share.release());
  // The client has already disconnected: the body will not be read.
  if (response.closed) share.release();
  return share;
}
