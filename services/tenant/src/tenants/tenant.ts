import type { Budget, Limits } from '@gatehouse/contract/keys';
import type {
  ActingUsers,
  ScimUserId,
  Content,
  MemoryLimits,
  PatchTenant,
  Previews,
  TenantStatus,
  UserKeys,
} from '@gatehouse/contract/tenants';
import { AppError } from '@gatehouse/kit/errors';
import { withoutNulls } from '../limits/stored-limits.ts';

/** All settings of a tenant that an owner can change. */
export interface TenantSettings {
  slug: string;
  name: string;
  status: TenantStatus;
  /** An absent member means no limit. */
  limits: Limits;
  /** An absent member means the default. */
  memoryLimits: MemoryLimits;
  budget: Budget | null;
  /** Null allows every model of the catalogue. */
  allowedModels: readonly string[] | null;
  timezone: string;
  retentionDays: number;
  previews: Previews;
  /** Whether the content of runs is stored as well; never without previews. */
  contentFull: boolean;
  userKeys: UserKeys;
  actingUsers: ActingUsers;
  scimUserId: ScimUserId;
}

export interface NewTenant extends TenantSettings {
  id: string;
}

export interface Tenant extends NewTenant {
  createdAt: Date;
  updatedAt: Date;
}

/** The setting `content` in the API. */
export function contentOf({
  previews,
  contentFull,
}: Pick<TenantSettings, 'previews' | 'contentFull'>): Content {
  if (!previews.enabled) return 'off';
  return contentFull ? 'full' : 'previews';
}

type StoredTexts = Pick<TenantSettings, 'previews' | 'contentFull'>;

/**
 * The texts of runs that are stored after a change of `content` and `previews`. Throws `invalid_value` if the two
 * contradict each other.
 */
export function changedTexts(
  current: StoredTexts,
  { content, previews }: { content?: Content | undefined; previews?: PatchTenant['previews'] },
): StoredTexts {
  const isOn = content === undefined ? undefined : content !== 'off';
  if (isOn !== undefined && previews?.enabled === !isOn)
    throw new AppError(
      'invalid_value',
      `content ${content} contradicts previews.enabled: send one of the two.`,
      {
        param: 'content',
      },
    );
  const enabled = isOn ?? previews?.enabled ?? current.previews.enabled;
  const contentFull = content === undefined ? current.contentFull : content === 'full';
  return {
    previews: { enabled, max_chars: previews?.max_chars ?? current.previews.max_chars },
    contentFull: enabled && contentFull,
  };
}

/** The settings after a JSON merge patch (RFC 7396): absent members stay, and null removes a limit. */
export function patchSettings(current: TenantSettings, patch: PatchTenant): TenantSettings {
  const { user_keys: userKeys } = patch;
  const { memory, ...limits } = patch.limits ?? {};
  return {
    slug: patch.slug ?? current.slug,
    name: patch.name ?? current.name,
    status: patch.status ?? current.status,
    limits: withoutNulls({ ...current.limits, ...limits }),
    memoryLimits: memory === null ? {} : withoutNulls({ ...current.memoryLimits, ...memory }),
    budget: patch.budget === undefined ? current.budget : patch.budget,
    allowedModels: patch.allowed_models === undefined ? current.allowedModels : patch.allowed_models,
    timezone: patch.timezone ?? current.timezone,
    retentionDays: patch.retention_days ?? current.retentionDays,
    ...changedTexts(current, patch),
    userKeys: {
      enabled: userKeys?.enabled ?? current.userKeys.enabled,
      max: userKeys?.max ?? current.userKeys.max,
      max_days: userKeys?.max_days ?? current.userKeys.max_days,
    },
    actingUsers: patch.acting_users ?? current.actingUsers,
    scimUserId: patch.scim_user_id ?? current.scimUserId,
  };
}
