import { createHash } from 'node:crypto';
import type { AuditAction, AuditEntry, NewAuditEntry } from '@gatehouse/contract/audit';
import { newId } from '@gatehouse/kit/ids';

/** An administrative change. `before` and `after` are public views of the resource, without secrets. */
export interface Change {
  action: AuditAction;
  /** The id of the resource. */
  id: string;
  /** The tenant of the resource. Default: the tenant of the caller. */
  tenantId?: string | null;
  /** Null when the resource was created. */
  before: object | null;
  /** Null when the resource was deleted. */
  after: object | null;
}

/** The actor and the request of a change. */
export interface Circumstances {
  actor: AuditEntry['actor'];
  tenantId: string | null;
  clientIp: string | null;
  requestId: string | null;
}

/** Creates the audit log entry of a change. */
export function auditEntryOf(change: Change, by: Circumstances): NewAuditEntry {
  const { action, id, tenantId = by.tenantId, before, after } = change;
  return {
    id: newId(),
    action,
    actor: by.actor,
    tenant_id: tenantId,
    resource: { type: action.slice(0, action.indexOf('.')), id },
    client_ip: by.clientIp,
    request_id: by.requestId,
    before: withoutSecrets(before),
    after: withoutSecrets(after),
  };
}

/** Larger members are replaced by their hash, which still shows changes. */
const maxMemberBytes = 8_192;

/** Members private to the tenant, and those of checks: owners read the log. */
const privateMembers: ReadonlySet<string> = new Set([
  ...['system_prompt', 'template'],
  ...['patterns', 'words', 'instructions', 'params', 'except'],
]);

function withoutSecrets(view: object | null): Record<string, unknown> | null {
  if (view === null) return null;
  return Object.fromEntries(
    Object.entries(view).map(([name, member]) => {
      const isLarge = Buffer.byteLength(JSON.stringify(member ?? null)) > maxMemberBytes;
      return [name, isLarge ? omitted(member) : shownMember(name, member)];
    }),
  );
}

/**
 * Shortens addresses to their host: a reader of a whole one, like the address of a Slack webhook, can often use it. The
 * hash still shows changes.
 */
function withoutAddresses(member: unknown): unknown {
  if (typeof member === 'string') return shortAddress(member);
  if (Array.isArray(member)) return member.map(withoutAddresses);
  if (typeof member !== 'object' || member === null) return member;
  return Object.fromEntries(Object.entries(member).map(([name, one]) => [name, shownMember(name, one)]));
}

function shownMember(name: string, member: unknown): unknown {
  const isEmpty = member === '' || (Array.isArray(member) && member.length === 0);
  return privateMembers.has(name) && !isEmpty ? omitted(member) : withoutAddresses(member);
}

function omitted(member: unknown): object {
  const json = Buffer.from(JSON.stringify(member ?? null));
  return { omitted_bytes: json.length, sha256: sha256Of(json) };
}

function shortAddress(text: string): unknown {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return text;
  const origin = `${url.protocol}//${url.host}`;
  return [origin, `${origin}/`].includes(text) ? text : { origin, sha256: sha256Of(text) };
}

function sha256Of(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
