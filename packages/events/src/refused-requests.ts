import { cacheKey } from '@gatehouse/kit/cache-key';
import { newId } from '@gatehouse/kit/ids';
import { hourMs, minuteMs } from '@gatehouse/kit/bounds';
import { cutText } from './cut-text.ts';
import {
  maxRefusedEntries,
  maxRefusedResults,
  type RefusedDetail,
  type RefusedEntry,
} from './refused-event.ts';
import { textLimits } from './run-event.ts';

/** Groups of the refused requests of a tenant; further ones are counted by their code alone. */
const maxRefusedGroups = 200;
/** The same of all tenants, which an outage of analytics would else fill memory with: about 10 MB. */
const maxRefusedGroupsOfAll = 20_000;
/** Refused requests of a tenant with facts of their own, in an hour: as many as analytics keeps. Others are only counted. */
const maxRefusedOfHour = 1_000;
/** The same that wait for publication, of one tenant and of all: about 5 MB, or 20 MB with findings of guardrails. */
const maxRefusedWaitingOfTenant = 1_000;
const maxRefusedWaiting = 8_000;
/** Requests of an entry with facts of their own: with findings of guardrails, half a megabyte. Others are only counted. */
const maxDetailsOfEntry = 100;
/** The text of a refusal is cut there. */
const maxRefusedMessageChars = 300;
/** Counts are by quarters of an hour, as those of runs. */
const quarterMs = 15 * minuteMs;

/** A request answered 4xx before any provider call. */
export type RefusedRequest = Omit<RefusedEntry, 'count' | 'details' | 'refused_at'> &
  Omit<RefusedDetail, 'id' | 'refused_at'>;

/** The refused requests of a tenant since they were last taken. */
interface TenantRefusals {
  entries: Map<string, RefusedEntry>;
  details: number;
}

/**
 * Counts refused requests in memory until they are published. A flood costs one look-up each: a tenant has a bounded
 * number of groups and of requests with facts of their own, and none of another tenant's.
 */
export class RefusedRequests {
  #tenants = new Map<string, TenantRefusals>();
  #waiting = 0;
  #groups = 0;
  /** Requests with facts of their own in the current hour, by tenant. */
  readonly #hourCounts = new Map<string, number>();
  #hour = 0;

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  note(request: RefusedRequest, now = new Date()): void {
    const { tenant_id: tenantId } = request;
    const known = this.#tenants.get(tenantId);
    const tenant = known ?? { entries: new Map<string, RefusedEntry>(), details: 0 };
    if (known === undefined) this.#tenants.set(tenantId, tenant);
    const before = tenant.entries.size;
    const { entry, isWhole } = entryOf(tenant, request, {
      areFull: this.#groups >= maxRefusedGroupsOfAll,
      now,
    });
    this.#groups += tenant.entries.size - before;
    entry.count += 1;
    if (isWhole && entry.details.length < maxDetailsOfEntry && this.#hasRoom(tenant, tenantId, now)) {
      entry.details.push(detailOf(request, now));
      tenant.details += 1;
      this.#waiting += 1;
    }
  }

  /** Takes the counts. */
  take(): RefusedEntry[] {
    const entries = [...this.#tenants.values()].flatMap((tenant) => [...tenant.entries.values()]);
    this.#tenants = new Map();
    this.#waiting = 0;
    this.#groups = 0;
    return entries;
  }

  /** Whether a request is published with facts of its own, rather than only counted. */
  #hasRoom({ details }: TenantRefusals, tenantId: string, now: Date): boolean {
    const hour = Math.floor(now.getTime() / hourMs);
    if (hour !== this.#hour) {
      this.#hour = hour;
      this.#hourCounts.clear();
    }
    const hourCount = this.#hourCounts.get(tenantId) ?? 0;
    if (hourCount >= maxRefusedOfHour || details >= maxRefusedWaitingOfTenant) return false;
    if (this.#waiting >= maxRefusedWaiting) return false;
    this.#hourCounts.set(tenantId, hourCount + 1);
    return true;
  }
}

/**
 * The entry of a request, in its quarter of an hour. One beyond the bound of its tenant, or of all, is counted by its code
 * alone, at the time of the first such request: not whole, it has no user whose data could be deleted.
 */
function entryOf(
  { entries }: TenantRefusals,
  request: RefusedRequest,
  { areFull, now }: { areFull: boolean; now: Date },
): { entry: RefusedEntry; isWhole: boolean } {
  const { code, operation, model, agent_id: agent, channel, dialect, client } = request;
  const { user_id: user, api_key_id: key } = request;
  const quarter = Math.floor(now.getTime() / quarterMs);
  const name = cacheKey(quarter, code, operation, model, agent, channel, dialect, client, user, key);
  const known = entries.get(name);
  if (known !== undefined) return { entry: known, isWhole: true };
  const isWhole = !areFull && entries.size < maxRefusedGroups;
  const place = isWhole ? name : cacheKey(code);
  const other = entries.get(place);
  if (other !== undefined) return { entry: other, isWhole };
  const entry = isWhole ? newEntry(request, now) : byCode(request, now);
  entries.set(place, entry);
  return { entry, isWhole };
}

function newEntry(request: RefusedRequest, now: Date): RefusedEntry {
  const {
    request_id: _id,
    trace_id: _trace,
    request_model: _model,
    session_id: _session,
    message: _message,
    guardrails: _guardrails,
    ...group
  } = request;
  return { ...group, refused_at: now.toISOString(), count: 0, details: [] };
}

/** A client's text as PostgreSQL stores it: one that it rejects would be lost with all others of the event. */
function storable(text: string, most: number): string {
  return cutText(text, most).toWellFormed().replaceAll('\0', '\ufffd');
}

function byCode(request: RefusedRequest, now: Date): RefusedEntry {
  const nothing = {
    model: '',
    agent_id: null,
    dialect: null,
    client: null,
    user_id: null,
    api_key_id: null,
  };
  return { ...newEntry(request, now), ...nothing };
}

function detailOf(request: RefusedRequest, now: Date): RefusedDetail {
  const { request_id, trace_id, session_id, guardrails } = request;
  return {
    ...{ id: newId(), request_id, trace_id, session_id, refused_at: now.toISOString() },
    request_model: storable(request.request_model, textLimits.request_model),
    message: storable(request.message, maxRefusedMessageChars),
    ...(guardrails !== undefined && { guardrails: guardrails.slice(0, maxRefusedResults) }),
  };
}

/** Characters of texts in one event: below half of its most bytes, as UTF-8 takes three bytes for some. */
const charsOfEvent = 250_000;

/** The first of these entries, as many as an event may have and at least one: the others are not read. */
export function firstEntries(entries: readonly RefusedEntry[], from = 0): RefusedEntry[] {
  const first: RefusedEntry[] = [];
  let chars = 0;
  for (let index = from; index < entries.length && first.length < maxRefusedEntries; index += 1) {
    const entry = entries[index];
    if (entry === undefined) break;
    chars += JSON.stringify(entry).length;
    if (first.length > 0 && chars > charsOfEvent) break;
    first.push(entry);
  }
  return first;
}
