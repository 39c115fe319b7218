import { Egress } from '@gatehouse/egress/egress';
import type { AllowList } from '@gatehouse/egress/allow-list';
import { Guard } from '@gatehouse/egress/guard';
import { observeEgress } from '@gatehouse/egress/metrics';
import type { Shell } from '@gatehouse/shell/shell';
import { maxIssuerCalls } from '../bounds.ts';
import type { IssuerSettings } from './issuer-settings.ts';
import { Issuer } from './issuer.ts';

export interface IssuersConfig {
  issuers: readonly IssuerSettings[];
  EGRESS_ALLOW: AllowList;
  PUBLIC_URL: string;
}

/** The operator's OpenID Connect issuers, by name, and the one way out to them. */
export function makeIssuers({ registry }: Pick<Shell, 'registry'>, config: IssuersConfig) {
  const { issuers, PUBLIC_URL: publicUrl } = config;
  const allow = config.EGRESS_ALLOW.withHostsOf(issuers.map(({ issuer }) => issuer));
  const egress = new Egress({ guard: new Guard(allow), maxCalls: maxIssuerCalls });
  observeEgress(registry, { issuers: egress });
  const made = issuers.map((settings) => new Issuer({ settings, egress, publicUrl }));
  return {
    issuers: new Map(made.map((issuer) => [issuer.settings.name, issuer])),
    parts: [{ stop: () => egress.stop() }],
  };
}
