import type { Rpc } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { NoteProviderKeysRequest, NoteProviderKeysResponse } from '@gatehouse/proto/tenant/v1/tenant';
import type { RaiseAlert } from '@gatehouse/shell/published-alerts';
import { maxNotedUses } from '../bounds.ts';
import type { ProviderKeySystemStore } from './provider-key-system-store.ts';

/** `NoteProviderKeys`: how providers took the own keys of tenants. */
export function noteProviderKeys(
  keys: ProviderKeySystemStore,
  raise: RaiseAlert,
): Rpc<NoteProviderKeysRequest, NoteProviderKeysResponse> {
  return {
    callers: ['chat'],
    handle: async ({ uses }) => {
      if (uses.length > maxNotedUses || !uses.every(({ id }) => isUuid(id)))
        throw new AppError('invalid_value', `A call has at most ${maxNotedUses} uses, with UUIDs.`);
      await keys.note(uses, raise);
      return {};
    },
  };
}
