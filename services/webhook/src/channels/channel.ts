import { createHash } from 'node:crypto';
import {
  channelShapes,
  type ChannelConfig,
  type ChannelInstance,
  type ChannelStatus,
  type ChannelType,
  type CreateChannelInstance,
  type PatchChannelInstance,
} from '@gatehouse/contract/channel-instances';
import { validate } from '@gatehouse/kit/validate';
import { z } from 'zod';
import type { SecretPlace } from '../secrets/webhook-secrets.ts';
import type { Ref } from '../shared/ref.ts';
import { maxNameChars } from '../bounds.ts';

/** Settings, named like their columns. */
export const settingNames = ['name', 'agent_id', 'enabled', 'history_tokens', 'replies', 'config'] as const;
export type ChannelSettings = Pick<ChannelInstance, (typeof settingNames)[number]>;

/** The state of the connection to the provider. */
export interface ChannelState {
  status: Exclude<ChannelStatus, 'disabled'>;
  status_reason: string | null;
}

/** A channel, without its credentials. */
export interface Channel extends ChannelSettings, ChannelState {
  id: string;
  tenantId: string;
  type: ChannelType;
  /** Whether it is about to move to another tenant: nothing of it is worked on. */
  closed: boolean;
  /** Until then the credentials before the last change prove messages too. */
  previousSecretExpiresAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A channel with its credentials: encrypted JSON. */
export interface SealedChannel extends Channel {
  credentials: Buffer;
}

/** A channel as a message finds it. */
export interface InboundChannel extends SealedChannel {
  /** Those before the last change, while they prove messages too; null otherwise. */
  previousCredentials: Buffer | null;
}

/** A channel by which something is sent. */
export interface ConnectedChannel extends SealedChannel {
  /** Encrypted; null where the provider gives no tokens, or has not yet. */
  accessToken: Buffer | null;
  /** Encrypted: those before the last change, while they sign replies too; null otherwise. */
  previousCredentials: Buffer | null;
}

/** The place of a channel's credentials, or of one of its tokens. */
export function placeOf(
  { tenantId, id }: Ref,
  column: Extract<SecretPlace['column'], 'credentials' | 'access_token' | 'refresh_token'> = 'credentials',
): SecretPlace {
  return { tenantId, table: 'channel_instances', column, id };
}

/** Throws a 400 for a config unknown to the type. */
export function newSettings({
  type,
  credentials: _credentials,
  config,
  ...settings
}: CreateChannelInstance): ChannelSettings {
  return { ...settings, config: shaped(type, 'config', config) as ChannelConfig };
}

/** The settings after a patch: omitted ones are kept, and null takes a member of the config away. Throws a 400 for members unknown to the type. */
export function patchedSettings(before: Channel, patch: PatchChannelInstance): ChannelSettings {
  const { config, replies, credentials: _credentials, overlap_seconds: _overlap, ...simple } = patch;
  return {
    ...(Object.fromEntries(settingNames.map((name) => [name, before[name]])) as ChannelSettings),
    ...defined(simple),
    replies: { ...before.replies, ...defined(replies ?? {}) },
    config: shaped(before.type, 'config', withoutNull({ ...before.config, ...config })) as ChannelConfig,
  };
}

function withoutNull(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
}

/** `value` as the config or the credentials of a type. Throws a 400 with the name of the member. */
export function shaped(type: ChannelType, field: 'config' | 'credentials', value: object): object {
  const shape: z.ZodObject = channelShapes[type][field];
  return validate(z.object({ [field]: shape }), { [field]: value }, 'body')[field] as object;
}

/** As clients see it. Members are named, since a channel read for a change has its credentials too. */
export function showChannel(channel: Channel, publicUrl: string): ChannelInstance {
  const { id, type, name, agent_id, enabled, history_tokens, replies, config } = channel;
  return {
    ...{ id, type, name, agent_id, enabled, history_tokens, replies, config },
    status: enabled ? channel.status : 'disabled',
    status_reason: enabled ? channel.status_reason : null,
    webhook_url: `${publicUrl}/v1/webhooks/message?channel=${id}`,
    previous_secret_expires_at: channel.previousSecretExpiresAt?.toISOString() ?? null,
    created_at: channel.createdAt.toISOString(),
    updated_at: channel.updatedAt.toISOString(),
  };
}

/**
 * The acting user of a person who writes in a channel: at most 255 printable ASCII characters. A longer id is replaced
 * by its digest.
 */
export function actingUserOf({ type, id }: Pick<Channel, 'type' | 'id'>, senderId: string): string {
  const user = `${type}:${id}:${encodeURIComponent(senderId.toWellFormed())}`;
  if (user.length <= maxNameChars) return user;
  return `${type}:${id}:sha256:${createHash('sha256').update(senderId).digest('hex')}`;
}

type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Defined<Fields>;
}
