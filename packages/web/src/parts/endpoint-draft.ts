import type {
  PatchWebhookEndpoint,
  WebhookEndpoint,
  WebhookScheme,
} from '@gatehouse/contract/webhook-endpoints';
import { fieldText, numberOrNull, textOrNull, trimmed } from '../format/changes.ts';

export const schemes: Record<WebhookScheme, string> = {
  standard: 'Standard Webhooks',
  github: 'GitHub',
  stripe: 'Stripe',
  slack: 'Slack',
  grafana: 'Grafana',
  pagerduty: 'PagerDuty',
  sentry: 'Sentry',
  hmac: 'HMAC-SHA-256 header',
  token: 'Bearer token',
};

/** Senders with a secret made by themselves. */
const theirs: readonly WebhookScheme[] = ['stripe', 'slack', 'pagerduty', 'sentry', 'hmac'];

export function isSecretTheirs(scheme: WebhookScheme): boolean {
  return theirs.includes(scheme);
}

export const templates = {
  '': 'None: the body has "input"',
  ...{ alertmanager: 'Alertmanager', grafana: 'Grafana', github: 'GitHub', gitlab: 'GitLab' },
  ...{ pagerduty: 'PagerDuty', sentry: 'Sentry', own: 'Custom' },
};
type TemplateName = keyof typeof templates;

export const encodings = { hex: 'Hexadecimal', base64: 'Base64' };

/** The fields as text. */
export interface EndpointDraft {
  name: string;
  agent_id: string;
  scheme: WebhookScheme;
  /** Only for a new endpoint. */
  secret: string;
  template: TemplateName;
  liquid: string;
  mode: WebhookEndpoint['mode'];
  callback_url: string;
  /** A channel for answers and a conversation of it; empty without one. */
  channel: string;
  conversation: string;
  rate_limit_per_minute: string;
  allowed_cidrs: readonly string[];
  header: string;
  encoding: keyof typeof encodings;
  prefix: string;
}

export const newEndpoint: EndpointDraft = {
  ...{ name: '', agent_id: '', scheme: 'standard', secret: '', template: '', liquid: '', mode: 'sync' },
  ...{ callback_url: '', channel: '', conversation: '', rate_limit_per_minute: '', allowed_cidrs: [] },
  ...{ header: '', encoding: 'hex', prefix: '' },
};

export function endpointDraft(endpoint: WebhookEndpoint): EndpointDraft {
  const { name, agent_id, scheme, template, mode, allowed_cidrs } = endpoint;
  const isReady = template !== null && template in templates;
  return {
    ...{ name, agent_id, scheme, mode, allowed_cidrs, secret: '' },
    // A name of the record.
    template: template === null ? '' : isReady ? (template as TemplateName) : 'own',
    liquid: isReady ? '' : (template ?? ''),
    callback_url: endpoint.callback_url ?? '',
    channel: endpoint.deliver_to?.channel_instance_id ?? '',
    conversation: endpoint.deliver_to?.conversation ?? '',
    rate_limit_per_minute: fieldText(endpoint.rate_limit_per_minute),
    ...{ header: endpoint.header ?? '', encoding: endpoint.encoding ?? 'hex', prefix: endpoint.prefix ?? '' },
  };
}

/** The settings of a draft as the API takes them, for creation and for changes. */
export function endpointBody(draft: EndpointDraft) {
  const { name, agent_id, scheme, template, liquid, mode, channel, conversation } = draft;
  const { header, encoding, prefix } = draft;
  return {
    ...{ name, agent_id, mode },
    template: template === 'own' ? liquid : textOrNull(template),
    callback_url: mode === 'async' ? textOrNull(draft.callback_url) : null,
    deliver_to: channel === '' ? null : { channel_instance_id: channel, conversation },
    rate_limit_per_minute: numberOrNull(draft.rate_limit_per_minute),
    allowed_cidrs: trimmed(draft.allowed_cidrs),
    ...(scheme === 'hmac' && { header, encoding, prefix }),
  } satisfies PatchWebhookEndpoint;
}
