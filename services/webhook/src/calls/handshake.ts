import type { WebhookChallenge, WebhookIgnored } from '@gatehouse/contract/webhook-calls';
import type { SealedEndpoint } from '../endpoints/endpoint.ts';
import { maxChallengeChars } from '../bounds.ts';

/** The response to a mere check of the endpoint. */
export type HandshakeAnswer = WebhookIgnored | WebhookChallenge;

const ignored: WebhookIgnored = { call_id: null, status: 'ignored' };

/**
 * The answer to a payload by which a sender only checks the endpoint, null for any other: senders do this by
 * themselves, and there is nothing to ask an agent. A person's test, like `pagey.ping` of PagerDuty, is answered like
 * an event.
 */
export function answerToHandshake(
  { scheme, template }: Pick<SealedEndpoint, 'scheme' | 'template'>,
  payload: unknown,
): HandshakeAnswer | null {
  const { zen, hook_id, ssl_check, type, challenge } = Object(payload) as Record<string, unknown>;
  // When a webhook is created: https://docs.github.com/en/webhooks/webhook-events-and-payloads#ping
  if (scheme === 'github' || template === 'github')
    return typeof zen === 'string' && typeof hook_id === 'number' ? ignored : null;
  if (scheme !== 'slack') return null;
  // Now and then, for slash commands: https://docs.slack.dev/interactivity/implementing-slash-commands
  if (ssl_check === '1') return ignored;
  // When the URL of an app's events is set: https://docs.slack.dev/reference/events/url_verification
  const isShort = typeof challenge === 'string' && challenge.length <= maxChallengeChars;
  return type === 'url_verification' && isShort ? { challenge } : null;
}
