import type { IncomingMessage } from 'node:http';
import { webhookInput, type WebhookInput } from '@gatehouse/contract/webhook-calls';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { isForm, isJson, parseJson } from '@gatehouse/http/body';
import { validate } from '@gatehouse/http/validate';
import { AppError } from '@gatehouse/kit/errors';
import type { Templates } from '../templates/templates.ts';
import type { SealedEndpoint } from './endpoint.ts';
import { withExactIntegers } from './exact-numbers.ts';

/** Schemes whose senders may send forms, which then have the JSON in the field `payload`, or are the payload. */
const sendForms: ReadonlySet<WebhookScheme> = new Set(['slack', 'github']);

/** Reads what a delivery asks of the agent: by the template of the endpoint, or from the body. Throws 400, 415 and 422. */
export async function readInput(
  templates: Templates,
  { tenantId, scheme, template }: SealedEndpoint,
  { headers }: IncomingMessage,
  body: Buffer,
): Promise<WebhookInput> {
  const json = readPayload(scheme, headers['content-type'], body);
  const payload = parseJson(json);
  if (template === null) return validate(webhookInput, payload, 'body');
  return { input: await templates.prompt(tenantId, template, withExactIntegers(json)) };
}

/** The JSON of a payload, which is not checked. */
function readPayload(scheme: WebhookScheme, contentType: string | undefined, body: Buffer): Buffer {
  if (isJson(contentType)) return body;
  if (!isForm(contentType) || !sendForms.has(scheme))
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  const fields = Object.fromEntries(new URLSearchParams(body.toString()));
  const { payload } = fields;
  return Buffer.from(payload ?? JSON.stringify(fields));
}

/** As a chat completion request without a model. */
export function requestOf({ input }: Pick<WebhookInput, 'input'>): string {
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return JSON.stringify({ messages });
}
