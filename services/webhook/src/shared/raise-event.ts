import type { NewAlert } from '@gatehouse/events/alert-event';
import type { Queryable } from '@gatehouse/pg/pool';

/** Queues an event of this service for the subscribers of a tenant, in a transaction of the tenant. */
export type RaiseEvent = (
  db: Queryable,
  tenantId: string,
  event: Omit<NewAlert, 'tenant_id'>,
) => Promise<void>;
