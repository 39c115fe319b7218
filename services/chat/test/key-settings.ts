import type { KeySettings } from '../src/shared/tenant-settings.ts';

/** The settings of a tenant and a key without limits, previews, policies or users, but for `fields`. */
export function keySettings(fields: Partial<KeySettings> = {}): KeySettings {
  return {
    ...{ allowedModels: null, previewChars: 0, storesContent: false, retentionDays: 30 },
    ...{ limited: [], keyLimited: [], unleasedRequests: 0n, ownKeys: [], policies: null, guardrails: null },
    ...{ hasSessionBudgets: false, hasUsers: false, actingUsers: 'any' },
    ...fields,
  };
}
