import type { AlertData, AlertType } from '@gatehouse/contract/alert-types';
import { z } from 'zod';
import { parseShape, readEvent, writeEvent } from './cloud-event.ts';

/** Events for the subscriptions of tenants and of the owner: services publish them, and webhook sends them. */

export const alertRaised = 'gatehouse.alert.raised';

/** Members and types added by later releases are kept as they are. */
const alertRaisedData = z.object({
  id: z.uuid(),
  at: z.iso.datetime(),
  tenant_id: z.uuid().nullable(),
  type: z.string().max(64),
  data: z.record(z.string().max(64), z.unknown()),
});

/** An event, as subscribers receive it. */
export type Alert = z.output<typeof alertRaisedData>;

/** An alert without its time, which the database sets. */
export type NewAlert = {
  [Type in AlertType]: {
    /** Stays the same if the alert is raised again. */
    id: string;
    /** Null for events of the platform. */
    tenant_id: string | null;
    type: Type;
    data: AlertData<Type>;
  };
}[AlertType];

export function writeAlertEvent(source: string, alert: NewAlert & { at: string }): string {
  return writeEvent({
    id: alert.id,
    source,
    type: alertRaised,
    time: alert.at,
    subject: alert.type,
    partitionkey: alertKey(alert.tenant_id),
    data: alert,
  });
}

/** Returns the alert of an event, or null for an event of another type. Throws with the reason when it is invalid. */
export function readAlertEvent(text: string): Alert | null {
  const event = readEvent(text);
  return event.type === alertRaised ? parseShape(alertRaisedData, event.data, 'not an alert') : null;
}

/** The partition key: alerts of one tenant keep their order. */
export function alertKey(tenantId: string | null): string {
  return tenantId ?? 'owner';
}
