import { webhookInput, type WebhookInput } from '@gatehouse/contract/webhook-calls';
import { isJson, parseJson } from '@gatehouse/http/body';
import { validate } from '@gatehouse/http/validate';
import { AppError } from '@gatehouse/kit/errors';

/** What a delivery asks of the agent. Throws 400 and 415. */
export function readInput(contentType: string | undefined, body: Buffer): WebhookInput {
  if (!isJson(contentType))
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  return validate(webhookInput, parseJson(body), 'body');
}

/** As a chat completion request without a model. */
export function requestOf({ input }: Pick<WebhookInput, 'input'>): string {
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return JSON.stringify({ messages });
}
