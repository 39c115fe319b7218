import type { IncomingMessage } from 'node:http';
import { webhookInput, type WebhookInput } from '@gatehouse/contract/webhook-calls';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import { isForm, isJson, parseBody, readPart } from '@gatehouse/http/body';
import { validate } from '@gatehouse/kit/validate';
import { AppError } from '@gatehouse/kit/errors';
import type { Templates } from '../templates/templates.ts';
import type { SealedEndpoint } from '../endpoints/endpoint.ts';
import { answerToHandshake, type HandshakeAnswer } from './handshake.ts';
import { maxFormFields } from '../bounds.ts';

/** Schemes in which senders may send forms. A form has the JSON in the field `payload`, or is the payload. */
const sendForms: ReadonlySet<WebhookScheme> = new Set(['slack', 'github', 'hmac']);

/** Headers with the event's name, for payloads without it. No signature covers them. */
const eventHeaders = ['x-github-event', 'sentry-hook-resource', 'x-gitlab-event'] as const;

/**
 * Reads what a request asks of the agent: by the template of the endpoint, or from the body. A handshake asks nothing.
 * Throws 400, 413, 415 and 422.
 */
export async function readInput(
  templates: Templates,
  { tenantId, scheme, template }: SealedEndpoint,
  { headers }: IncomingMessage,
  body: Buffer,
): Promise<{ input: WebhookInput } | { handshake: HandshakeAnswer }> {
  const json = await readPart(body, tenantId, () => readPayload(scheme, headers['content-type'], body));
  const payload = await parseBody(json, tenantId);
  const handshake = answerToHandshake({ scheme, template }, payload);
  if (handshake !== null) return { handshake };
  if (template === null) return { input: validate(webhookInput, payload, 'body') };
  const rendering = { template, json: decoder.decode(json), eventName: eventNameOf(headers) };
  return { input: { input: await templates.prompt(tenantId, rendering) } };
}

/** Drops a byte order mark. */
const decoder = new TextDecoder();

function eventNameOf(headers: IncomingMessage['headers']): string | null {
  const name = eventHeaders.map((header) => headers[header]).find((value) => value !== undefined);
  return typeof name === 'string' && /^[A-Za-z][\w. -]{0,63}$/.test(name) ? name : null;
}

/** The JSON of a payload, which is not checked. */
function readPayload(scheme: WebhookScheme, contentType: string | undefined, body: Buffer): Buffer {
  if (isJson(contentType)) return body;
  if (!isForm(contentType) || !sendForms.has(scheme))
    throw new AppError('unsupported_media_type', 'The request body must be application/json.');
  const fields = formFields(body);
  const { payload } = fields;
  return Buffer.from(payload ?? JSON.stringify(fields));
}

const [plus, space] = [0x2b, 0x20];

/** The fields of a form. Throws `payload_too_large` for too many, before it parses them. */
function formFields(form: Buffer): Record<string, string> {
  let fields = 1;
  for (let at = form.indexOf('&'); at >= 0; at = form.indexOf('&', at + 1)) {
    fields += 1;
    if (fields > maxFormFields)
      throw new AppError('payload_too_large', `The form has more than ${maxFormFields} fields.`);
  }
  // The parser takes 80 ms for a million of pluses, but no time for spaces, which mean the same.
  const spaced = Buffer.from(form.map((byte) => (byte === plus ? space : byte)));
  return Object.fromEntries(new URLSearchParams(spaced.toString()));
}

/** As a chat completion request without a model. */
export function requestOf({ input }: Pick<WebhookInput, 'input'>): string {
  const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return JSON.stringify({ messages });
}
