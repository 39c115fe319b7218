import {
  maxRefusedDetails,
  maxRefusedEntries,
  type RefusedDetail,
  type RefusedEntry,
} from '@gatehouse/events/refused-event';
import { cutText } from '@gatehouse/events/cut-text';
import { textLimits } from '@gatehouse/events/run-event';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { newId } from '@gatehouse/kit/ids';
import { hourMs } from '@gatehouse/kit/bounds';
import {
  maxRefusedGroups,
  maxRefusedGroupsOfAll,
  maxRefusedMessageChars,
  maxRefusedOfHour,
  maxRefusedWaiting,
  maxRefusedWaitingOfTenant,
} from '../bounds.ts';

/** A request answered 4xx before any provider call. */
export type RefusedRequest = Omit<RefusedEntry, 'count' | 'details'> &
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
    const entry = entryOf(tenant, request, this.#groups >= maxRefusedGroupsOfAll);
    this.#groups += tenant.entries.size - before;
    entry.count += 1;
    if (entry.details.length < maxRefusedDetails && this.#hasRoom(tenant, tenantId, now)) {
      entry.details.push(detailOf(request, now));
      tenant.details += 1;
      this.#waiting += 1;
    }
  }

  /** Takes the counts, in lists as long as an event may have. */
  take(): RefusedEntry[][] {
    const entries = [...this.#tenants.values()].flatMap((tenant) => [...tenant.entries.values()]);
    this.#tenants = new Map();
    this.#waiting = 0;
    this.#groups = 0;
    return inEvents(entries);
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

/** The entry of a request. One beyond the bound of its tenant, or of all, is counted by its code alone. */
function entryOf({ entries }: TenantRefusals, request: RefusedRequest, areFull: boolean): RefusedEntry {
  const { code, operation, request_model: model, agent_id: agent, channel, dialect, client } = request;
  const { user_id: user, api_key_id: key } = request;
  const name = cacheKey(code, operation, model, agent, channel, dialect, client, user, key);
  const known = entries.get(name);
  if (known !== undefined) return known;
  const isFull = areFull || entries.size >= maxRefusedGroups;
  const place = isFull ? cacheKey(code) : name;
  const other = isFull ? entries.get(place) : undefined;
  if (other !== undefined) return other;
  const entry = isFull ? byCode(request) : newEntry(request);
  entries.set(place, entry);
  return entry;
}

function newEntry(request: RefusedRequest): RefusedEntry {
  const { request_id: _id, trace_id: _trace, session_id: _session, message: _message, ...group } = request;
  return {
    ...group,
    request_model: storable(group.request_model, textLimits.request_model),
    count: 0,
    details: [],
  };
}

/** A client's text as PostgreSQL stores it: one that it rejects would be lost with all others of the event. */
function storable(text: string, most: number): string {
  return cutText(text, most).toWellFormed().replaceAll('\0', '\ufffd');
}

function byCode(request: RefusedRequest): RefusedEntry {
  const nothing = {
    request_model: '',
    agent_id: null,
    dialect: null,
    client: null,
    user_id: null,
    api_key_id: null,
  };
  return { ...newEntry(request), ...nothing };
}

function detailOf({ request_id, trace_id, session_id, message }: RefusedRequest, now: Date): RefusedDetail {
  const id = newId();
  const text = storable(message, maxRefusedMessageChars);
  return { id, request_id, trace_id, session_id, message: text, refused_at: now.toISOString() };
}

/** Characters of texts in one event: below half of its most bytes, as UTF-8 takes three bytes for some. */
const charsOfEvent = 250_000;

function inEvents(entries: readonly RefusedEntry[]): RefusedEntry[][] {
  const events: RefusedEntry[][] = [];
  let last: RefusedEntry[] = [];
  let chars = 0;
  for (const entry of entries) {
    const size = JSON.stringify(entry).length;
    if (last.length === 0 || last.length >= maxRefusedEntries || chars + size > charsOfEvent) {
      last = [];
      events.push(last);
      chars = 0;
    }
    last.push(entry);
    chars += size;
  }
  return events;
}
