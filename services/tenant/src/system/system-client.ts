import type { GetSystemStateResponse } from '@gatehouse/proto/system/v1/system';
import type { Systems } from '../shared/clients.ts';

/** A service that takes longer is shown as down. */
const deadlineMs = 2_000;

/** Reads the state of another service. Throws an `AppError` if it does not answer in time. */
export function stateOf(peer: Systems[keyof Systems]): () => Promise<GetSystemStateResponse> {
  return () => peer.call('getSystemState', {}, { deadlineMs });
}
