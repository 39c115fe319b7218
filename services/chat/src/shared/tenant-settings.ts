import type { AllowedModels } from '@gatehouse/contract/allowed-models';
import type { ActingUsers } from '@gatehouse/contract/tenants';
import type { PolicyIndex } from '@gatehouse/kit/policy-matching';
import type { GuardrailIndex } from '../policies/guardrail.ts';
import type { Policy } from '../policies/policy.ts';
import type { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { maxStoredDays } from '../bounds.ts';

/** The settings of a tenant for chat. */
export interface TenantSettings {
  /** Null when the tenant may use the whole catalogue. */
  allowedModels: AllowedModels | null;
  /** Characters of prompt and answer kept in runs; 0 with previews off. */
  previewChars: number;
  /** Whether the content of runs is stored. */
  storesContent: boolean;
  /** How long texts are kept. */
  retentionDays: number;
  /** The limited resources of the tenant. */
  limited: readonly Resource[];
  /** Requests of the tenant admitted at once by this replica without a lease. */
  unleasedRequests: bigint;
  /** The tenant's own keys for providers, newest first. */
  ownKeys: readonly TenantProviderKey[];
  /** Its policies, and those of the owner for it; null without any. */
  policies: PolicyIndex<Policy> | null;
  /** Its guardrails, and those of the owner for it; null without any. */
  guardrails: GuardrailIndex | null;
  /** Whether sessions of the tenant have budgets of their own. */
  hasSessionBudgets: boolean;
  /** Whether the tenant has a directory of users. */
  hasUsers: boolean;
  /** The users of runs. */
  actingUsers: ActingUsers;
}

/** A tenant's own key for a provider. */
export interface TenantProviderKey {
  id: string;
  /** Name of a provider of the catalogue. */
  provider: string;
  /** Encrypted. */
  sealed: Buffer;
  /** The models it is limited to; null for all of the provider. */
  models: AllowedModels | null;
  /** The user it is limited to; null for all. */
  userId: string | null;
}

/** How long responses are stored for their clients; a tenant service of an earlier release does not say its days. */
export function storedDays({ retentionDays: days }: Pick<TenantSettings, 'retentionDays'>): number {
  return days >= 1 ? Math.min(days, maxStoredDays) : maxStoredDays;
}

/** How long contents of runs are stored. */
export function contentDays({ retentionDays: days }: Pick<TenantSettings, 'retentionDays'>): number {
  return days >= 1 ? days : maxStoredDays;
}

/** The same for a request with one of the tenant's keys. */
export interface KeySettings extends TenantSettings {
  /** The limited resources of the key. */
  keyLimited: readonly Resource[];
}

/** The settings for work exempt from some limits. */
export function withoutLimits(settings: KeySettings, resources: readonly Resource[]): KeySettings {
  const others = (limited: readonly Resource[]): Resource[] =>
    limited.filter((resource) => !resources.includes(resource));
  return { ...settings, limited: others(settings.limited), keyLimited: others(settings.keyLimited) };
}
