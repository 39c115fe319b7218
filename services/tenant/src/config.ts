import { readFileSync } from 'node:fs';
import path from 'node:path';
import { egressSettings } from '@gatehouse/egress/settings';
import { kafkaSettings } from '@gatehouse/events/settings';
import { addresses, duration, parseConfig, wrongSettings } from '@gatehouse/kit/config';
import { databaseSettings } from '@gatehouse/pg/settings';
import { secretsSettings } from '@gatehouse/secrets/settings';
import { grpcSettings, publicUrlSettings, serviceSettings } from '@gatehouse/shell/settings';
import { z } from 'zod';
import { IssuersError, readIssuers, type IssuerSettings } from './issuers/issuer-settings.ts';

const settings = z.object({
  ...serviceSettings,
  ...grpcSettings,
  ...databaseSettings,
  ...secretsSettings,
  ...publicUrlSettings,
  ANALYTICS_GRPC: addresses,
  CHAT_GRPC: addresses,
  MEMORY_GRPC: addresses,
  WEBHOOK_GRPC: addresses,
  AGENT_GRPC: addresses,
  ...kafkaSettings,
  ...egressSettings,
  /** The operator's file of OpenID Connect issuers. Without it, people log in with keys alone. */
  OIDC_ISSUERS: z.string().optional(),
  /**
   * Lifetime of a program's key after a person confirms it by a code, unless it is renewed; and of own keys without a
   * login of their person.
   */
  CLI_KEY_TTL: duration({ from: '15m', to: '30d' }).default(12 * 3_600),
  /** How long entries of the audit log stay, by whole months. Without it, they stay for good. */
  AUDIT_RETENTION_DAYS: z.coerce.number().int().min(30).max(36_500).optional(),
});

export interface TenantConfig extends Readonly<z.output<typeof settings>> {
  readonly issuers: readonly IssuerSettings[];
}

/** Reads the settings, and the file of issuers with its secrets. */
export function loadConfig(environment: Record<string, string | undefined>): TenantConfig {
  const config = parseConfig(settings, environment);
  return Object.freeze({ ...config, issuers: issuersIn(config, environment) });
}

function issuersIn(
  { OIDC_ISSUERS: file, PUBLIC_URL: publicUrl, EGRESS_ALLOW: allow }: z.output<typeof settings>,
  environment: Record<string, string | undefined>,
): IssuerSettings[] {
  if (file === undefined) return [];
  if (publicUrl === '') throw wrongSettings(['OIDC_ISSUERS: needs PUBLIC_URL']);
  try {
    const text = readFileSync(file, 'utf8');
    return readIssuers({ text, environment, allowsHttp: (host) => allow.has(host) });
  } catch (error) {
    const problems = error instanceof IssuersError ? error.problems : [(error as Error).message];
    throw wrongSettings(
      problems.map((problem) => `OIDC_ISSUERS: ${problem}`),
      { cause: error },
    );
  }
}

const bootstrapSettings = z.object({ DATABASE_URL: databaseSettings.DATABASE_URL, ...kafkaSettings });

/** Settings of the commands that create the first owner key and a link for one login. */
export function loadBootstrapConfig(
  environment: Record<string, string | undefined>,
): Readonly<z.output<typeof bootstrapSettings>> {
  return parseConfig(bootstrapSettings, environment);
}

export const migrations = path.join(import.meta.dirname, '../migrations');
