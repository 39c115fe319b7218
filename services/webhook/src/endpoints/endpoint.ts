import { AppError } from '@gatehouse/kit/errors';
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
  'deliver_to',
  'header',
  'encoding',
  'prefix',
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
  scheme,
  secret: _secret,
  ...settings
}: CreateWebhookEndpoint): EndpointSettings {
  return withHmac(scheme, settings);
}

/** Settings of the scheme `hmac` alone. */
const hmacNames = ['header', 'encoding', 'prefix'] as const;

/** The settings with the defaults of the scheme `hmac`. Throws a 400 without its header, and for those of another scheme. */
function withHmac(scheme: WebhookScheme, settings: EndpointSettings): EndpointSettings {
  const { header, encoding, prefix } = settings;
  if (scheme !== 'hmac') {
    const param = hmacNames.find((name) => settings[name] !== null);
    if (param === undefined) return settings;
    throw new AppError('invalid_value', `${param} is for endpoints of the scheme hmac.`, { param });
  }
  if (header === null)
    throw new AppError(
      'missing_required_parameter',
      'The scheme hmac requires the header of the signature.',
      {
        param: 'header',
      },
    );
  return { ...settings, encoding: encoding ?? 'hex', prefix: prefix ?? '' };
}

/** The settings after a patch: omitted fields are kept. Throws as `newSettings` does. */
export function patchedSettings(
  before: Endpoint,
  { callback_secret: _secret, overlap_seconds: _overlap, ...patch }: PatchWebhookEndpoint,
): EndpointSettings {
  const defined = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  const current = Object.fromEntries(settingNames.map((name) => [name, before[name]]));
  return withHmac(before.scheme, { ...current, ...defined } as EndpointSettings);
}

/** As clients see it. `publicUrl`: empty where the operator has not set it. */
export function showEndpoint(
  { previousSecretExpiresAt, previousCallbackSecretExpiresAt, createdAt, updatedAt, ...endpoint }: Endpoint,
  publicUrl: string,
): WebhookEndpoint {
  return {
    ...endpoint,
    url: `${publicUrl}/v1/webhooks/llm?endpoint=${endpoint.id}`,
    previous_secret_expires_at: previousSecretExpiresAt?.toISOString() ?? null,
    previous_callback_secret_expires_at: previousCallbackSecretExpiresAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
  };
}
