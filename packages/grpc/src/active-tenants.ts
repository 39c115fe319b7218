import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { assertTenantActive } from '@gatehouse/kit/errors';
import { OutageCache, type OutageCacheOptions } from '@gatehouse/kit/outage-cache';
import type { CallContext } from './client.ts';
import { hangIsOutage, isOutage } from './errors.ts';

/** Settings of a tenant as the tenant service sent them. */
export interface SentSettings<Settings> {
  settings: Settings;
  /** Absent if sent by the release before: the edge alone enforces suspension then. */
  status: string | undefined;
  /** Whether the release before sent them, without policies and users. Its changes are then not relied on. */
  isPartial?: boolean;
}

/** The part of a call of `GetTenantSettings` independent of the settings. */
export type SettingsContext = Pick<CallContext, 'deadlineMs' | 'requestId' | 'trace'>;
/** The asking request, for its trace. */
export type SettingsCaller = Pick<CallContext, 'requestId' | 'trace'>;

export interface ActiveTenantsOptions<Settings> {
  /** Asks the tenant service. */
  load: (tenantId: string, context: SettingsContext) => Promise<SentSettings<Settings>>;
  /** The changes of tenants, by their ids. */
  changes: ChangeWatch;
  /** For settings with sizes decided by tenants. Default: only the number of tenants is limited. */
  size?: OutageCacheOptions<Settings>['size'];
}

const deadlineMs = 2_000;
const maxTenants = 50_000;
const longestMs = 5 * 60_000;

/** How long settings are valid during an outage of the tenant service. */
export const settingsOutageMs = 5 * 60_000;

/**
 * Settings of tenants: current for what the watch knows, a second old at most if it knows nothing or they are partial,
 * or five minutes during an outage of the tenant service. Each method throws 403 `tenant_suspended` for an inactive tenant, even if the
 * edge's cache has it as active.
 */
export class ActiveTenants<Settings> {
  readonly #load: ActiveTenantsOptions<Settings>['load'];
  readonly #tenants: OutageCache<SentSettings<Settings>>;

  constructor({ load, size, changes }: ActiveTenantsOptions<Settings>) {
    this.#load = load;
    this.#tenants = new OutageCache({
      max: maxTenants,
      ...(size && { size: { maxBytes: size.maxBytes, bytesOf: ({ settings }) => size.bytesOf(settings) } }),
      freshMs: 1_000,
      outageMs: settingsOutageMs,
      isOutage,
      watch: {
        changes,
        longestMs,
        subjectsOf: ({ isPartial }, tenantId) => (isPartial === true ? null : [tenantId]),
      },
    });
  }

  /** The settings if they are fresh. Synchronous, to save the hot path a microtask. */
  peek(tenantId: string): Settings | undefined {
    const sent = this.#tenants.peek(tenantId);
    return sent === undefined ? undefined : activeSettings(sent);
  }

  async get(tenantId: string, caller: SettingsCaller = {}): Promise<Settings> {
    return activeSettings(await this.#tenants.get(tenantId, () => this.#ask(tenantId, caller)));
  }

  /** The current settings, for requests in which their age matters more than a call. */
  async getNow(tenantId: string, caller: SettingsCaller = {}): Promise<Settings> {
    return activeSettings(await this.#tenants.getNow(tenantId, () => this.#ask(tenantId, caller)));
  }

  #ask(tenantId: string, { requestId, trace }: SettingsCaller): Promise<SentSettings<Settings>> {
    return this.#load(tenantId, { deadlineMs, requestId, trace }).catch(hangIsOutage);
  }
}

function activeSettings<Settings>({ settings, status = 'active' }: SentSettings<Settings>): Settings {
  assertTenantActive(status);
  return settings;
}
