import { requestsRefused, type RequestsRefused, type RefusedEntry } from '@gatehouse/events/refused-event';
import type { ChatHarness } from './chat-harness.ts';

/** The counts of refused requests published for a tenant so far. */
export function refusedEntries({ events }: Pick<ChatHarness, 'events'>, tenantId: string): RefusedEntry[] {
  return events
    .map((json) => JSON.parse(json) as { type: string; data: RequestsRefused })
    .filter(({ type }) => type === requestsRefused)
    .flatMap(({ data }) => data.entries)
    .filter((entry) => entry.tenant_id === tenantId);
}
