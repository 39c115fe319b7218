import { writeRequestsRefused, type RefusedDetail, type RefusedEntry } from '@gatehouse/events/refused-event';
import { newId } from '@gatehouse/kit/ids';

/** The facts of one refused request. */
export const detail = (at: Date, model = 'small'): RefusedDetail => ({
  id: newId(),
  request_id: 'request-1',
  trace_id: '0af7651916cd43dd8448eb211c80319c',
  request_model: model,
  session_id: null,
  message: 'The limit of 10 requests per minute is reached.',
  refused_at: at.toISOString(),
});

/** Counts of requests of a tenant. */
export const entryOf = (tenantId: string, fields: Partial<RefusedEntry> = {}): RefusedEntry => ({
  tenant_id: tenantId,
  code: 'rate_limit_exceeded',
  operation: 'chat',
  model: 'small',
  agent_id: null,
  channel: 'api',
  dialect: 'chat',
  client: 'curl',
  user_id: null,
  api_key_id: null,
  refused_at: '',
  count: 1,
  details: [],
  ...fields,
});

/** An event with entries of this time, unless they have their own. */
export const eventOf = (entries: readonly RefusedEntry[], at = new Date()): string =>
  writeRequestsRefused(
    'gatehouse/chat',
    new Date(),
    entries.map((entry) => ({ ...entry, refused_at: entry.refused_at || at.toISOString() })),
  ).json;
