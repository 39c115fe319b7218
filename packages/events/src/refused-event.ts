import { dialectNames, runOperations } from '@gatehouse/contract/dialects';
import { newId } from '@gatehouse/kit/ids';
import { z } from 'zod';
import { writeEvent } from './cloud-event.ts';
import { cutText } from './cut-text.ts';
import { guardrailResult, textLimits } from './run-event.ts';
import type { EventText } from './sink.ts';

/**
 * Events about refused requests (`gatehouse.usage.v1`): those answered 4xx before any provider call, which are no runs.
 * Chat counts them and publishes the counts each second; analytics adds them up.
 */

export const requestsRefused = 'gatehouse.requests.refused';

/** Entries of one event. */
export const maxRefusedEntries = 1_000;
/** Requests of one entry with their own facts, as release 0.3.0 sends them; an entry counts further ones. */
export const maxRefusedDetails = 200;
/** Findings of guardrails of one request: those that say why it was refused are the first. */
export const maxRefusedResults = 3;

const text = (max: number) =>
  z
    .string()
    .overwrite((value) => cutText(value, max))
    .max(max);

/** One refused request. */
const refusedDetail = z.object({
  id: z.uuid(),
  request_id: text(textLimits.request_id),
  trace_id: text(textLimits.trace_id),
  /** As the client asked for it; empty if the request was refused before it was read. */
  request_model: text(textLimits.request_model),
  session_id: text(textLimits.session_id).nullable(),
  message: text(textLimits.error_message),
  refused_at: z.iso.datetime({ offset: true }).max(40),
  /** Absent for all but requests blocked by guardrails. */
  guardrails: z.array(guardrailResult).max(maxRefusedResults).optional(),
});
export type RefusedDetail = z.output<typeof refusedDetail>;

/** The requests of a tenant refused in one quarter of an hour for the same reason, alike in all groups of usage. */
const refusedEntry = z.object({
  tenant_id: z.uuid(),
  /** The code of the error. */
  code: text(textLimits.error_code),
  operation: z.enum(runOperations),
  /** A model or a pattern of the catalogue, and no other text of a client; empty for all else. */
  model: text(textLimits.request_model),
  agent_id: z.uuid().nullable(),
  channel: text(textLimits.channel),
  dialect: z.enum(dialectNames).nullable(),
  client: text(textLimits.client).nullable(),
  user_id: text(textLimits.user_id).nullable(),
  api_key_id: z.uuid().nullable(),
  /** The time of the first one. */
  refused_at: z.iso.datetime({ offset: true }).max(40),
  /** All refused requests, those in `details` included. */
  count: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  details: z.array(refusedDetail).max(maxRefusedDetails),
});
export type RefusedEntry = z.output<typeof refusedEntry>;

export const requestsRefusedData = z.object({
  /** Identifies the counts, which are added once. */
  id: z.uuid(),
  entries: z.array(refusedEntry).min(1).max(maxRefusedEntries),
});
export type RequestsRefused = z.output<typeof requestsRefusedData>;

/** Serializes counts of refused requests, with the id as their key: all tenants of a second are in one event. */
export function writeRequestsRefused(
  source: string,
  publishedAt: Date,
  entries: readonly RefusedEntry[],
): EventText {
  const id = newId();
  const time = publishedAt.toISOString();
  const json = writeEvent({
    id,
    source,
    type: requestsRefused,
    time,
    subject: 'refused requests',
    partitionkey: id,
    data: { id, entries },
  });
  return { key: id, json };
}
