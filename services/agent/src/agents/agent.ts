import { agent, type CreateAgent, type PatchAgent } from '@gatehouse/contract/agents';
import { slug } from '@gatehouse/contract/fields';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import type { z } from 'zod';
import { mergePatch } from '../shared/merge-patch.ts';
import { maxFieldBytes } from '../bounds.ts';

/** Settings of an agent: the wire shape without the fields written by the gateway. */
const settings = agent.omit({ id: true, created_at: true, updated_at: true });
export type AgentSettings = z.output<typeof settings>;
/** The names on the wire, which are those of the columns too. */
export const settingNames = Object.keys(settings.shape) as (keyof AgentSettings)[];

export interface Agent extends AgentSettings {
  id: string;
  /** Whether it refuses requests: it is about to move to another tenant. */
  isClosed: boolean;
  createdAt: Date;
  updatedAt: Date;
}

/** Fields of an agent for a list of names: settings may be large. */
export type AgentSummary = Pick<Agent, 'id' | 'key' | 'createdAt'>;

/** An agent as a tool of programs. */
export type ActiveAgent = Pick<Agent, 'id' | 'key' | 'name' | 'description'>;

/** Whether a text has the form of an id or a key. Any other text names no agent. */
export function isAgentRef(text: string): boolean {
  return isUuid(text) || slug.safeParse(text).success;
}

/** The settings of a new agent. Throws when they contradict each other or the acting user. */
export function newSettings(body: CreateAgent, userId: string | null): AgentSettings {
  const { name = body.key, owner_user_id: named = null, allow_missing: _, ...others } = body;
  assertActsFor(named, userId);
  return checked({ ...others, name, owner_user_id: named ?? userId }, userId);
}

/** The settings after a JSON merge patch. Throws when the result contradicts itself or the acting user. */
export function patchedSettings(
  current: AgentSettings,
  patch: PatchAgent,
  userId: string | null,
): AgentSettings {
  const { owner_user_id: named, allow_missing: _, ...members } = patch;
  assertActsFor(named ?? null, userId);
  // The patch shape accepts for each member only values of the full shape, so the result has the full shape again.
  const merged = mergePatch(current, members) as AgentSettings;
  // A merge removes what is set to null.
  const tools = { ...merged.tools, max_cost_usd: merged.tools.max_cost_usd ?? null };
  return checked(
    { ...merged, tools, owner_user_id: named === undefined ? current.owner_user_id : named },
    userId,
  );
}

/** All models named by the settings, each with the name of its field. */
export function modelsOf(
  settings: Pick<PatchAgent, 'model' | 'model_fallbacks'>,
): { field: string; model: string }[] {
  const { model, model_fallbacks: fallbacks = [] } = settings;
  return [
    ...(model === undefined ? [] : [{ field: 'model', model }]),
    ...fallbacks.map((fallback, index) => ({ field: `model_fallbacks[${index}]`, model: fallback })),
  ];
}

function checked(settings: AgentSettings, userId: string | null): AgentSettings {
  for (const field of ['parameters', 'metadata'] as const) {
    if (Buffer.byteLength(JSON.stringify(settings[field])) > maxFieldBytes) {
      throw new AppError(
        'invalid_value',
        `${field} must not be larger than ${maxFieldBytes} bytes of JSON.`,
        {
          param: field,
        },
      );
    }
  }
  if (settings.visibility === 'tenant') return settings;
  const owner = settings.owner_user_id ?? userId;
  if (owner === null) {
    const message = 'A private agent needs an owner: send X-Service-User-Id or owner_user_id.';
    throw new AppError('acting_user_required', message, { param: 'owner_user_id' });
  }
  // A caller must not hide an agent from the user they act for.
  assertActsFor(owner, userId);
  return { ...settings, owner_user_id: owner };
}

function assertActsFor(owner: string | null, userId: string | null): void {
  if (owner === null || userId === null || owner === userId) return;
  throw new AppError('user_mismatch', 'The agent would belong to another user than the request acts for.', {
    param: 'owner_user_id',
  });
}
