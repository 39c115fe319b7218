import { createHash } from 'node:crypto';
import { openBracket } from '@gatehouse/kit/json-bytes';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { Range } from './wire/json-parts.ts';
import { elementsOf, nameCount, objectMembers, valueEnd, type Member } from './wire/json-members.ts';
import { maxMembers, maxPlainDepth, maxPromptBytes, maxPromptParts, maxSystemBlocks } from './bounds.ts';

/**
 * A prompt by its parts, to find how many of them a provider has counted before. Digests are of the text as the client
 * wrote it, so a changed part is a new one.
 */
export interface PromptParts {
  /** System prompt and tools, each also by its member of the request and its place there. */
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
  /**
   * Whether all servers of a model read it alike: texts and results of tools, without anything else. The reasoning of a
   * model goes to one provider and not to another, and so may members of no API.
   */
  isPlain: boolean;
}

/** Pictures, sounds and files: their number, and the bytes of the request excluded from its text for this reason. */
export interface Attachments {
  count: number;
  bytes: number;
}

/** `linked`: those behind an address. */
export interface MessageAttachments extends Attachments {
  linked: number;
}

interface PromptText {
  body: Buffer;
  /** The body, parsed. */
  fields: Fields;
  /** The member with the messages. */
  list: string;
  /** The members before the messages, of those in the API. */
  heads: readonly string[];
  messages: readonly PromptMessage[];
}

/** A message, parsed, and its attachments. */
interface PromptMessage {
  message: Fields;
  attachments: MessageAttachments;
}

/** Members without a say in how a prompt is read, some of which change with each request of a client. */
const otherNames: ReadonlySet<string> = new Set([
  ...['stream', 'stream_options', 'store', 'service_tier', 'temperature', 'top_p', 'n'],
  ...['metadata', 'client_metadata', 'user', 'safety_identifier', 'prompt_cache_key'],
]);

/**
 * Splits a request. Null for a large one, for messages of unknown shapes, and where an object has a name twice: servers
 * differ in the member they read. `body`: a JSON object.
 */
export function promptParts({ body, fields, list, heads, messages }: PromptText): PromptParts | null {
  if (body.length > maxPromptBytes || hasRepeatedNames(body, fields)) return null;
  const members = objectMembers(body, { max: maxMembers });
  const conversation = members.find(({ name }) => name === list);
  if (conversation === undefined) return null;
  const ranges = rangesOf(body, conversation);
  if (ranges.length !== messages.length || ranges.length > maxPromptParts) return null;
  const headMembers = members.filter(({ name }) => heads.includes(name));
  const settings = members.filter(
    ({ name }) => name !== list && !heads.includes(name) && !otherNames.has(name),
  );
  const before = digestOf([
    JSON.stringify(headMembers.map(({ name }) => name)),
    ...settings.map(({ start, valueEnd }) => body.subarray(start, valueEnd)),
  ]);
  return {
    settings: before,
    messages: messageParts(body, { ranges, messages, before }),
    head: headMembers.flatMap((member) => headParts(body, member, fields[member.name])),
  };
}

/** The digest of a text added by the gateway to a prompt, as of a part. */
export function textDigest(text: string | Buffer): string {
  return digestOf(['added:', text]);
}

function messageParts(
  body: Buffer,
  {
    ranges,
    messages,
    before,
  }: { ranges: readonly Range[]; messages: readonly PromptMessage[]; before: string },
): PromptPart[] {
  const parts: PromptPart[] = [];
  for (const [index, { message, attachments }] of messages.entries()) {
    const text = textOf(body, ranges[index]);
    const { count, bytes, linked } = attachments;
    parts.push({
      digest: digestOf([parts.at(-1)?.digest ?? before, text]),
      bytes: isDeferred(message) ? 0 : text.length - bytes,
      ...{ attachments: count, linked, isPlain: isPlain(message) },
    });
  }
  return parts;
}

/** The parts of a member: the blocks of a system prompt, some of which change with each request; anything else as a whole. */
function headParts(body: Buffer, member: Member, value: unknown): PromptPart[] {
  const { name, valueStart, valueEnd: until } = member;
  const values = listOf(value);
  if (values.length > 0 && values.length <= maxSystemBlocks && values.every(isTextBlock))
    return rangesOf(body, member).map((range, index) => headPart([name, index], textOf(body, range)));
  const whole = headPart([name], textOf(body, { from: valueStart, until }));
  if (values.length === 0) return [whole];
  const deferred = rangesOf(body, member).filter((_range, index) => isDeferred(values[index]));
  const bytes = deferred.reduce((sum, range) => sum + range.until - range.from, 0);
  return [{ ...whole, bytes: Math.max(0, whole.bytes - bytes) }];
}

function headPart(place: readonly (string | number)[], text: Buffer): PromptPart {
  const digest = digestOf([JSON.stringify(place), text]);
  return { digest, bytes: text.length, attachments: 0, linked: 0, isPlain: true };
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

/** The text of a part, without marks for a cache: they count by their bytes. */
function textOf(body: Buffer, { from, until }: Range = { from: 0, until: 0 }): Buffer {
  const raw = body.subarray(from, until);
  if (!raw.includes('"cache_control"')) return raw;
  return Buffer.from(raw.toString('latin1').replace(marks, ''), 'latin1');
}

function hasRepeatedNames(body: Buffer, fields: Fields): boolean {
  return namesIn(fields).reduce((count) => count + 1, 0) !== nameCount(body);
}

/** The names of all members of a value, of those in it too. */
function* namesIn(value: unknown): Generator<string> {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    const names = isFields(next) ? Object.keys(next) : [];
    yield* names;
    const values = isFields(next) ? Object.values(next) : listOf(next);
    for (const inner of values) if (typeof inner === 'object') open.push(inner);
  }
}

/** Whether a value has a tool with a definition outside of the prompt until a model has found it. */
function isDeferred(value: unknown): boolean {
  return namesIn(value).some((name) => name === 'defer_loading');
}

function isTextBlock(value: unknown): boolean {
  return isFields(value) && value['type'] === 'text' && isPlain(value);
}

const plainRoles: ReadonlySet<unknown> = new Set(['user', 'system', 'developer', 'tool']);
const plainTypes: ReadonlySet<unknown> = new Set([
  ...['message', 'text', 'input_text', 'ephemeral'],
  ...['tool_result', 'function_call_output', 'custom_tool_call_output'],
]);
const plainNames: ReadonlySet<string> = new Set([
  ...['content', 'text', 'parts', 'output', 'is_error', 'cache_control', 'ttl', 'scope'],
  ...['tool_use_id', 'tool_call_id', 'call_id'],
]);

function isPlain(value: unknown, depth = 0): boolean {
  if (Array.isArray(value)) return depth < maxPlainDepth && value.every((each) => isPlain(each, depth + 1));
  if (!isFields(value)) return true;
  if (depth >= maxPlainDepth) return false;
  return Object.entries(value).every(([name, inner]) => {
    if (name === 'role') return plainRoles.has(inner);
    if (name === 'type') return plainTypes.has(inner);
    return plainNames.has(name) && isPlain(inner, depth + 1);
  });
}
