import type { SealedEndpoint } from './endpoint.ts';

/**
 * Whether a payload only asks whether the endpoint is there: senders do that by themselves, and there is nothing to ask an
 * agent. A test that a person sends, such as `pagey.ping` of PagerDuty, is answered like an event.
 */
export function isPing(
  { scheme, template }: Pick<SealedEndpoint, 'scheme' | 'template'>,
  payload: unknown,
): boolean {
  const { zen, hook_id, ssl_check } = Object(payload) as Record<string, unknown>;
  // When a webhook is created: https://docs.github.com/en/webhooks/webhook-events-and-payloads#ping
  if (scheme === 'github' || template === 'github')
    return typeof zen === 'string' && typeof hook_id === 'number';
  // Now and then, for slash commands: https://docs.slack.dev/interactivity/implementing-slash-commands
  return scheme === 'slack' && ssl_check === '1';
}
