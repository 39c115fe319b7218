import type {
  CreateWebhookEndpoint,
  PatchWebhookEndpoint,
  WebhookEndpoint,
  WebhookScheme,
} from '@gatehouse/contract/webhook-endpoints';

/** The settings of an endpoint, which are also the names of their columns. */
export const settingNames = [
  'name',
  'agent_id',
  'template',
  'mode',
  'callback_url',
  'rate_limit_per_minute',
  'allowed_cidrs',
  'enabled',
] as const;
export type EndpointSettings = Pick<WebhookEndpoint, (typeof settingNames)[number]>;

/** A webhook endpoint, without its secrets. */
export interface Endpoint extends EndpointSettings {
  id: string;
  scheme: WebhookScheme;
  previousSecretExpiresAt: Date | null;
  /** Until then results are signed by the callback secret before the last change too. */
  previousCallbackSecretExpiresAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

/** An endpoint as a request finds it, with its encrypted secrets. */
export interface SealedEndpoint extends EndpointSettings {
  id: string;
  tenantId: string;
  scheme: WebhookScheme;
  /** Whether it is about to move to another tenant: `sync` calls wait. */
  closed: boolean;
  secret: Buffer;
  /** Null when it is no longer accepted. */
  previousSecret: Buffer | null;
}

/** Encrypted. */
export interface SealedSecrets {
  secret: Buffer;
  callbackSecret: Buffer;
}

export function newSettings({
  scheme: _scheme,
  secret: _secret,
  ...settings
}: CreateWebhookEndpoint): EndpointSettings {
  return settings;
}

/** The settings after a patch: omitted fields are kept. */
export function patchedSettings(
  before: Endpoint,
  { callback_secret: _secret, overlap_seconds: _overlap, ...patch }: PatchWebhookEndpoint,
): EndpointSettings {
  const defined = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const current = Object.fromEntries(settingNames.map((name) => [name, before[name]]));
  return { ...current, ...defined } as EndpointSettings;
}

/** As clients see it. */
export function showEndpoint({
  previousSecretExpiresAt,
  previousCallbackSecretExpiresAt,
  createdAt,
  updatedAt,
  ...endpoint
}: Endpoint): WebhookEndpoint {
  return {
    ...endpoint,
    previous_secret_expires_at: previousSecretExpiresAt?.toISOString() ?? null,
    previous_callback_secret_expires_at: previousCallbackSecretExpiresAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
