import { Egress } from '@gatehouse/egress/egress';
import { Guard } from '@gatehouse/egress/guard';
import { BodyBudget } from '@gatehouse/kit/body-budget';
import { anonymousBudget } from '@gatehouse/http/body-share';
import { Refusals } from '@gatehouse/public-access/refusals';
import type { Pool } from '@gatehouse/pg/pool';
import type { Shell } from '@gatehouse/shell/shell';
import type { WebhookConfig } from '../config.ts';

export type Guards = ReturnType<typeof createGuards>;

/** The limits of requests without a key, for which `unauthenticatedPool` is, and the guarded egress to URLs of tenants. */
export function createGuards({ log, registry }: Shell, config: WebhookConfig, unauthenticatedPool: Pool) {
  const guard = new Guard(config.EGRESS_ALLOW);
  const egress = new Egress({ guard });
  const refusals = new Refusals({ service: 'webhook', system: unauthenticatedPool, log });
  return {
    parts: [egress, refusals],
    /** For requests that are not verified yet. */
    anonymousBudget: anonymousBudget(registry),
    /** For verified bodies, by their tenants. An eighth, so that it takes more than a few tenants to fill it. */
    bodyBudget: new BodyBudget({
      perTenant: config.BODY_BYTES_PER_PROCESS / 8,
      perProcess: config.BODY_BYTES_PER_PROCESS,
    }),
    ...{ guard, egress, refusals },
  };
}
