/** Messages of a run, in the shape of any API, as people read them. */

export interface ReadableMessage {
  /** Its role, or its type where it has no role. */
  title: string;
  parts: readonly ReadablePart[];
}

export interface ReadablePart {
  text: string;
  isJson: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/** Ids and states of items, which say nothing about the conversation. */
const skippedMembers = new Set(['id', 'status', 'object']);

/** A message: its texts, and all other members as JSON. */
export function readableMessage(message: unknown): ReadableMessage {
  if (typeof message === 'string') return { title: 'user', parts: [{ text: message, isJson: false }] };
  if (!isObject(message)) return { title: 'message', parts: [jsonPart(message)] };
  const { role, type, content, parts, ...others } = message;
  const title = [role, type].find((text) => typeof text === 'string') ?? 'message';
  const rest = Object.entries(others).filter(
    ([name, value]) => !skippedMembers.has(name) && hasContent(value),
  );
  return {
    title,
    parts: [...partsOf(content ?? parts), ...(rest.length === 0 ? [] : [jsonPart(Object.fromEntries(rest))])],
  };
}

/** A system prompt: a text, parts, or a content of Gemini. */
export function readableInstructions(value: unknown): ReadableMessage {
  return readableMessage({ ...(isObject(value) ? value : { content: value }), role: 'system' });
}

/** The messages of a response: choices, output items, candidates, or the response itself. */
export function readableResponse(response: unknown): ReadableMessage[] {
  if (response === null || response === undefined) return [];
  if (!isObject(response)) return [readableMessage(response)];
  const { choices, output, candidates, role, content } = response;
  if (Array.isArray(choices)) return choices.map((choice) => readableMessage(memberOf(choice, 'message')));
  if (Array.isArray(output)) return output.map(readableMessage);
  if (Array.isArray(candidates))
    return candidates.map((candidate) => readableMessage(memberOf(candidate, 'content')));
  return [readableMessage(content === undefined ? response : { role, content })];
}

/** A value as indented JSON. */
export function jsonText(value: unknown): string {
  // Undefined has no JSON.
  return JSON.stringify(value ?? null, null, 2);
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? (value[name] ?? value) : value;
}

/** The parts of a content: a text, a part, or a list of parts. */
function partsOf(content: unknown): ReadablePart[] {
  if (!hasContent(content)) return [];
  return Array.isArray(content) ? content.map(partOf) : [partOf(content)];
}

function partOf(part: unknown): ReadablePart {
  if (typeof part === 'string') return { text: part, isJson: false };
  if (isObject(part) && typeof part['text'] === 'string') return { text: part['text'], isJson: false };
  return jsonPart(part);
}

function jsonPart(value: unknown): ReadablePart {
  return { text: jsonText(value), isJson: true };
}

function hasContent(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  return !Array.isArray(value) || value.length > 0;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
