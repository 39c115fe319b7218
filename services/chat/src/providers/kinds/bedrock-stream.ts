import { isFields, type Fields } from '@gatehouse/kit/fields';
import {
  AwsEventSplitter,
  exceptionMessage,
  serverSentFrame,
  type AwsEvent,
} from '@gatehouse/dialects/wire/aws-event-frames';
import { assertReadable } from '@gatehouse/dialects/wire/readable';
import type { StreamSplitter } from '../provider-kind.ts';

/** A stream of Bedrock as frames of server-sent events. */
export class BedrockStream implements StreamSplitter {
  readonly #events = new AwsEventSplitter();
  readonly #frameOf: (event: AwsEvent) => Buffer | null;
  /** A frame without an end is cut off. */
  readonly rest = Buffer.alloc(0);

  /** `frameOf`: null for an event without one. */
  constructor(frameOf: (event: AwsEvent) => Buffer | null) {
    this.#frameOf = frameOf;
  }

  push(chunk: Buffer): Buffer[] {
    return this.#events
      .push(chunk)
      .map(this.#frameOf)
      .filter((frame) => frame !== null);
  }

  get size(): number {
    return this.#events.size;
  }
}

/** The beginning of an event with its type, as Anthropic writes it. */
const typeFirst = /^\s*\{\s*"type"\s*:\s*"(\w{1,100})"/;

/**
 * A piece of InvokeModel's stream as its event of Anthropic's API, byte for byte, and an exception as an error of this
 * API. Throws if it can't be read.
 */
export function messagesFrame(event: AwsEvent): Buffer | null {
  if (event.isException) return errorFrame(event);
  if (event.name !== 'chunk') return null;
  const { bytes } = objectIn(event.payload);
  if (typeof bytes !== 'string') throw new Error('a piece of the stream has no bytes');
  const payload = Buffer.from(bytes, 'base64');
  const [, first] = typeFirst.exec(payload.toString('latin1', 0, 256)) ?? [];
  const type = first ?? objectIn(payload)['type'];
  // As the SDK has it: without a type it is no event.
  return typeof type === 'string' && /^\w{1,100}$/.test(type)
    ? serverSentFrame({ name: type, isException: false, payload })
    : null;
}

/** Throws unless it is an object, read within 50 ms. */
function objectIn(json: Buffer): Fields {
  assertReadable(json);
  const fields: unknown = JSON.parse(json.toString());
  if (!isFields(fields)) throw new Error('a piece of the stream is no object');
  return fields;
}

/** The types of Anthropic's errors by Bedrock's exceptions; the rest are errors of the server. */
const errorTypes: Readonly<Record<string, string>> = {
  throttlingException: 'rate_limit_error',
  serviceUnavailableException: 'overloaded_error',
  modelTimeoutException: 'timeout_error',
  validationException: 'invalid_request_error',
};

function errorFrame({ name, payload }: AwsEvent): Buffer {
  const type = Object.hasOwn(errorTypes, name) ? errorTypes[name] : 'api_error';
  const error = { type, message: exceptionMessage(payload) ?? name };
  const event = Buffer.from(JSON.stringify({ type: 'error', error }));
  return serverSentFrame({ name: 'error', isException: false, payload: event });
}
