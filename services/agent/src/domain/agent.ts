import type { Agent as WireAgent, CreateAgent, PatchAgent } from '@gatehouse/contract/agents';
import { AppError } from '@gatehouse/kit/errors';
import { mergePatch } from './merge-patch.ts';

/** What a tenant decides about an agent: the wire shape without what the gateway itself writes. */
export type AgentSettings = Omit<WireAgent, 'id' | 'created_at' | 'updated_at'>;

export interface Agent extends AgentSettings {
  id: string;
  createdAt: Date;
  updatedAt: Date;
}

/** Parameters and metadata may grow by patches; this bounds each, as JSON. */
const maxJsonBytes = 64 * 1024;

/** The settings of a new agent. Throws when they contradict each other or the acting user. */
export function newSettings(body: CreateAgent, actingUser: string | null): AgentSettings {
  const { owner_user_id: named, name, ...rest } = body;
  assertOwnerIsActing(named ?? null, actingUser);
  return checked({ ...rest, name: name ?? body.key, owner_user_id: named ?? actingUser });
}

/** The settings after a JSON merge patch. Throws when the result contradicts itself or the acting user. */
export function patchedSettings(
  current: AgentSettings,
  patch: PatchAgent,
  actingUser: string | null,
): AgentSettings {
  assertOwnerIsActing(patch.owner_user_id ?? null, actingUser);
  // The contract's patch shape admits only values that the full shape admits, so the merge is one again, but for the
  // owner, whom a null removes.
  const { owner_user_id: owner = null, ...rest } = mergePatch(current, patch) as Omit<
    AgentSettings,
    'owner_user_id'
  > & {
    owner_user_id?: string | null;
  };
  const adopts = rest.visibility === 'private' && owner === null && patch.owner_user_id === undefined;
  return checked({ ...rest, owner_user_id: adopts ? actingUser : owner });
}

/** Every model the settings name, with the field that names it. */
export function modelsOf(settings: AgentSettings): { field: string; model: string }[] {
  const fallbacks = settings.model_fallbacks.map((model, index) => ({
    field: `model_fallbacks[${index}]`,
    model,
  }));
  return [{ field: 'model', model: settings.model }, ...fallbacks];
}

function assertOwnerIsActing(named: string | null, actingUser: string | null): void {
  if (named === null || actingUser === null || named === actingUser) return;
  throw new AppError('user_mismatch', 'owner_user_id names another user than the one the request acts for.', {
    param: 'owner_user_id',
  });
}

function checked(settings: AgentSettings): AgentSettings {
  if (settings.visibility === 'private' && settings.owner_user_id === null) {
    throw new AppError(
      'acting_user_required',
      'A private agent needs an owner: send X-Service-User-Id or owner_user_id.',
      {
        param: 'owner_user_id',
      },
    );
  }
  for (const field of ['parameters', 'metadata'] as const) {
    if (Buffer.byteLength(JSON.stringify(settings[field])) > maxJsonBytes) {
      throw new AppError('invalid_value', `${field} must not be larger than ${maxJsonBytes} bytes of JSON.`, {
        param: field,
      });
    }
  }
  return settings;
}
