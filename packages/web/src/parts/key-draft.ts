import type { ApiKey, PatchApiKey } from '@gatehouse/contract/keys';
import { changesOf, textOrNull, trimmed } from '../format/changes.ts';

export const reaches = { tenant: 'all that are open to the tenant', named: 'only these' } as const;

/** The rights of programs with a key, as fields. */
export interface KeyRights {
  reach: keyof typeof reaches;
  toolsets: readonly string[];
  client_settings: string;
}

/** The changed fields of a key. */
export interface KeyDraft extends KeyRights {
  name: string;
  scopes: readonly ApiKey['scopes'][number][];
}

export const newKeyRights: KeyRights = { reach: 'tenant', toolsets: [], client_settings: '' };

export function keyDraft({ name, scopes, toolsets, client_settings: settings }: ApiKey): KeyDraft {
  return {
    ...{ name, scopes, reach: toolsets === null ? 'tenant' : 'named' },
    ...{ toolsets: toolsets ?? [], client_settings: settings ?? '' },
  };
}

/** The rights as the API takes them. */
export function keyRights({ reach, toolsets, client_settings: settings }: KeyRights) {
  return {
    toolsets: reach === 'tenant' ? null : trimmed(toolsets),
    client_settings: textOrNull(settings.trim()),
  };
}

/** The changed members. */
export function keyChanges(before: KeyDraft, after: KeyDraft): PatchApiKey {
  const body = ({ name, scopes, ...rights }: KeyDraft) => ({
    name,
    scopes: [...scopes],
    ...keyRights(rights),
  });
  return changesOf(body(before), body(after));
}
