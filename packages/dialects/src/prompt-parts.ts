import { createHash } from 'node:crypto';
import { openBracket } from '@gatehouse/kit/json-bytes';
import type { Range } from './wire/json-parts.ts';
import { elementsOf, objectMembers, valueEnd, type Member } from './wire/json-members.ts';
import { maxMembers, maxPromptBytes, maxPromptParts } from './bounds.ts';

/**
 * A prompt by its parts, to find how many of them a provider has counted before. Digests are of the text as the client
 * wrote it, so a changed part is a new one.
 */
export interface PromptParts {
  /** System prompt and tools. */
  head: readonly PromptPart[];
  /** The messages. The digest of each is also of all before it, and of the fields with a say in how a prompt is read. */
  messages: readonly PromptPart[];
  /** The digest before the first message. */
  settings: string;
}

export interface PromptPart {
  digest: string;
  /** Bytes of its text, without pictures, sounds and files. */
  bytes: number;
  /** Pictures, sounds and files. */
  attachments: number;
  /** Those of them behind an address, where another content may be next time. */
  linked: number;
  /** Whether it is of a model. The reasoning with it goes to one provider, and not to another. */
  isOfModel: boolean;
}

/** Pictures, sounds and files: their number, and the bytes of the request excluded from its text for this reason. */
export interface Attachments {
  count: number;
  bytes: number;
}

interface PromptText {
  body: Buffer;
  /** The member with the messages. */
  list: string;
  /** The attachments of each message, in their order. */
  attachments: readonly Attachments[];
}

/** Members before the messages. */
const headNames: ReadonlySet<string> = new Set([
  ...['system', 'instructions', 'systemInstruction', 'system_instruction', 'tools', 'functions'],
]);

/** Members without a say in how a prompt is read, some of which change with each request of a client. */
const otherNames: ReadonlySet<string> = new Set([
  ...['stream', 'stream_options', 'store', 'service_tier', 'temperature', 'top_p', 'n'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ...['metadata', 'client_metadata', 'user', 'safety_identifier', 'prompt_cache_key'],
]);

/** Splits a request; null for a large one, and for messages of unknown shapes. `body`: a JSON object. */
export function promptParts({ body, list, attachments }: PromptText): PromptParts | null {
  if (body.length > maxPromptBytes) return null;
  const members = objectMembers(body, { max: maxMembers });
  const conversation = members.find(({ name }) => name === list);
  if (conversation === undefined) return null;
  const ranges = rangesOf(body, conversation);
  if (ranges.length !== attachments.length || ranges.length > maxPromptParts) return null;
  const text = { body, isMarked: body.includes('"cache_control"'), hasAddresses: hasAddress(body) };
  const settings = members.filter(
    ({ name }) => name !== list && !headNames.has(name) && !otherNames.has(name),
  );
  const before = digestOf(settings.map(({ start, valueEnd }) => body.subarray(start, valueEnd)));
  const messages: PromptPart[] = [];
  for (const [index, range] of ranges.entries())
    messages.push(
      partOf(text, range, {
        before: messages.at(-1)?.digest ?? before,
        attachments: attachments[index] ?? noAttachments,
      }),
    );
  const head = members.filter(({ name }) => headNames.has(name)).flatMap((member) => rangesOf(body, member));
  if (head.length > maxPromptParts) return null;
  return {
    settings: before,
    messages,
    head: head
      .filter((range) => !isDeferred(body, range))
      .map((range) => partOf(text, range, { before: '', attachments: noAttachments })),
  };
}

/** The digest of a text added by the gateway to a prompt, as of a part. */
export function textDigest(text: string | Buffer): string {
  return digestOf([text]);
}

const noAttachments: Attachments = { count: 0, bytes: 0 };

interface SearchedText {
  body: Buffer;
  isMarked: boolean;
  hasAddresses: boolean;
}

/** The elements of an array; any other value is one part. */
function rangesOf(body: Buffer, { valueStart, valueEnd: until }: Member): Range[] {
  if (body[valueStart] !== openBracket) return [{ from: valueStart, until }];
  const ranges: Range[] = [];
  for (const from of elementsOf(body, valueStart)) {
    if (ranges.length > maxPromptParts) break;
    ranges.push({ from, until: valueEnd(body, from) });
  }
  return ranges;
}

function partOf(
  { body, isMarked, hasAddresses }: SearchedText,
  { from, until }: Range,
  { before, attachments: { count, bytes } }: { before: string; attachments: Attachments },
): PromptPart {
  const raw = body.subarray(from, until);
  const digest = digestOf([before, isMarked ? withoutMarks(raw) : raw]);
  const linked = count > 0 && hasAddresses ? Math.min(count, addressesIn(raw)) : 0;
  const isOfModel = modelMarks.some((mark) => raw.includes(mark));
  return { digest, bytes: raw.length - bytes, attachments: count, linked, isOfModel };
}

function digestOf(parts: readonly (string | Buffer)[]): string {
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  return digest.digest('base64url').slice(0, 22);
}

/**
 * Marks of Anthropic's API for a cache. Clients move them to the newest message with each request. In a string their quotes
 * would be escaped.
 */
const marks =
  /,\s*"cache_control"\s*:\s*\{\s*"type"\s*:\s*"ephemeral"(?:\s*,\s*"ttl"\s*:\s*"(?:5m|1h)")?\s*\}/g;

function withoutMarks(raw: Buffer): Buffer {
  if (!raw.includes('"cache_control"')) return raw;
  return Buffer.from(raw.toString('latin1').replace(marks, ''), 'latin1');
}

/** The definition of such a tool comes into the prompt once a model has found it. */
function isDeferred(body: Buffer, { from, until }: Range): boolean {
  return body.subarray(from, until).includes('"defer_loading"');
}

/** Roles and types of messages of models, and of their reasoning, in all APIs. In a string their quotes would be escaped. */
const modelMarks = ['"assistant"', '"model"', '"reasoning', '_call"', '"encrypted_content"'];

const addresses = ['"http', '"gs:', '"s3:'];

function hasAddress(body: Buffer): boolean {
  return addresses.some((address) => body.includes(address));
}

function addressesIn(raw: Buffer): number {
  return raw.toString('latin1').match(/"(?:https?|gs|s3):/g)?.length ?? 0;
}
