import { createHmac } from 'node:crypto';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';

export interface Signing {
  scheme: WebhookScheme;
  secret: string;
  /** Settings of the scheme `hmac`: the header, and those of the signature in it. */
  header?: string | null;
  encoding?: 'hex' | 'base64' | null;
  prefix?: string | null;
}

/** The headers by which the senders of each scheme prove a delivery. */
export function signed(
  { scheme, secret, header, encoding, prefix }: Signing,
  body: string,
  { id, at = Math.floor(Date.now() / 1_000) }: { id: string; at?: number | undefined },
): Record<string, string> {
  const hmac = (text: string, key: string | Buffer = secret) => createHmac('sha256', key).update(text);
  switch (scheme) {
    case 'standard': {
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
      return {
        'webhook-id': id,
        'webhook-timestamp': String(at),
        'webhook-signature': `v1,${hmac(`${id}.${at}.${body}`, key).digest('base64')}`,
      };
    }
    case 'github':
      return { 'x-hub-signature-256': `sha256=${hmac(body).digest('hex')}`, 'x-github-delivery': id };
    case 'stripe':
      return { 'stripe-signature': `t=${at},v1=${hmac(`${at}.${body}`).digest('hex')}` };
    case 'slack':
      return {
        'x-slack-request-timestamp': String(at),
        'x-slack-signature': `v0=${hmac(`v0:${at}:${body}`).digest('hex')}`,
      };
    case 'grafana':
      return {
        'x-grafana-alerting-timestamp': String(at),
        'x-grafana-alerting-signature': hmac(`${at}:${body}`).digest('hex'),
      };
    case 'pagerduty':
      return { 'x-pagerduty-signature': `v1=${hmac(body).digest('hex')}` };
    case 'sentry':
      return { 'sentry-hook-signature': hmac(body).digest('hex'), 'request-id': id };
    case 'hmac':
      return { [header ?? 'x-signature']: `${prefix ?? ''}${hmac(body).digest(encoding ?? 'hex')}` };
    case 'token':
      return { authorization: `Bearer ${secret}` };
  }
}
