import { maxResultChars } from '@gatehouse/contract/builtin-tools';
import { cutText, shortened } from '@gatehouse/events/cut-text';
import { isFields } from '@gatehouse/kit/fields';
import { McpFailure } from './failure.ts';
import { TextsOfJson } from './json-duplicates.ts';
import {
  maxMessages,
  maxNameChars,
  maxTextChars,
  maxTokenChars,
  maxTools,
  maxWrongTools,
  maxSchemaBytes,
} from '../bounds.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A message of a server, of which is left what the gateway uses. */
export interface RpcMessage {
  kind: 'request' | 'notification' | 'response';
  /** For the client. */
  content: Fields;
}

/** The member of a listed page with the number of its bytes as sent by the server. */
export const pageBytesKey = 'gatehouse/bytes';
/** A listed tool has its schema under this key, as JSON text: the client would check each member, and describe each fault. */
export const schemaKey = 'gatehouse/schema';
/** The reason why a tool has no usable schema. */
export const reasonKey = 'gatehouse/reason';

const subscription = 'io.modelcontextprotocol/subscriptionId';

/**
 * Checks a message of a server and keeps the parts used by the gateway, so the client has little to validate, whatever
 * the server sends. Returns null for messages without an effect. Throws `McpFailure` at the first fault: a description
 * of all faults may be a thousand times as large as the message.
 */
export function rpcMessage(value: unknown, bytes: number): RpcMessage | null {
  const message = fieldsOf(value);
  const { jsonrpc, method, error, result } = message;
  if (jsonrpc !== '2.0') throw invalid();
  if (method !== undefined) return serverMessage(message, textOf(method, maxNameChars));
  const id = message['id'];
  const head = isId(id) ? { jsonrpc, id } : { jsonrpc };
  if (error !== undefined) return { kind: 'response', content: { ...head, error: errorOf(fieldsOf(error)) } };
  return { kind: 'response', content: { ...head, result: resultOf(fieldsOf(result), bytes) } };
}

function serverMessage(message: Fields, method: string): RpcMessage | null {
  const { jsonrpc, id } = message;
  if (id !== undefined) {
    if (!isId(id)) throw invalid();
    // Each request gets an answer independent of its parameters.
    return { kind: 'request', content: { jsonrpc, id, method } };
  }
  const params = (): Fields => fieldsOf(message['params']);
  const notification = (content: Fields): RpcMessage => ({ kind: 'notification', content });
  switch (method) {
    case 'notifications/tools/list_changed':
      return notification({ jsonrpc, method });
    case 'notifications/subscriptions/acknowledged': {
      const id = fieldsOf(params()['_meta'])[subscription];
      if (!isId(id)) throw invalid();
      return notification({ jsonrpc, method, params: { _meta: { [subscription]: id }, notifications: {} } });
    }
    case 'notifications/cancelled': {
      const { requestId } = params();
      return isId(requestId) ? notification({ jsonrpc, method, params: { requestId } }) : null;
    }
    default:
      return null;
  }
}

function errorOf({ code, message = '', data }: Fields): Fields {
  if (typeof code !== 'number' || typeof message !== 'string') throw invalid();
  const supported = isFields(data) ? data['supported'] : undefined;
  return {
    ...{ code, message: cutText(message, maxTextChars) },
    ...(supported !== undefined && { data: { supported: versionsOf(supported) } }),
  };
}

/** A result of any method called by the gateway: their fields don't contradict each other. */
function resultOf(result: Fields, bytes: number): Fields {
  const { tools, content, structuredContent, capabilities, serverInfo, supportedVersions } = result;
  return {
    ...texts(result, ['resultType', 'protocolVersion', 'nextCursor', 'cacheScope']),
    ...(typeof result['ttlMs'] === 'number' && { ttlMs: result['ttlMs'] }),
    ...(result['isError'] === true && { isError: true }),
    ...(capabilities !== undefined && { capabilities: capabilitiesOf(objectOf(capabilities)) }),
    ...(serverInfo !== undefined && { serverInfo: namedOf(fieldsOf(serverInfo)) }),
    ...(supportedVersions !== undefined && { supportedVersions: versionsOf(supportedVersions) }),
    ...(tools !== undefined && {
      tools: toolsOf(listOf(tools)),
      _meta: { [pageBytesKey]: bytes },
    }),
    ...((content !== undefined || structuredContent !== undefined) && {
      content: [{ type: 'text', text: contentOf(listOf(content ?? []), structuredContent) }],
    }),
  };
}

function capabilitiesOf({ tools }: Fields): Fields {
  if (tools === undefined) return {};
  return { tools: { listChanged: objectOf(tools)['listChanged'] === true } };
}

function namedOf({ name, version }: Fields): Fields {
  return { name: textOf(name, maxTokenChars), version: textOf(version, maxTokenChars) };
}

/**
 * The tools of a list. Some servers list other elements among them; a list with too many of these is no list of tools.
 */
function toolsOf(list: readonly unknown[]): Fields[] {
  const elements = list.slice(0, maxTools);
  const wrong = elements.filter(
    (element) => !isFields(element) || typeof element['name'] !== 'string',
  ).length;
  if (wrong > maxWrongTools || (wrong > 0 && wrong === elements.length)) throw invalid();
  return elements.map(toolOf).filter((tool) => tool !== null);
}

/** Null for one without a name. */
function toolOf(value: unknown): Fields | null {
  if (!isFields(value)) return null;
  const { name, description, inputSchema, annotations } = value;
  if (typeof name !== 'string') return null;
  const hints = isFields(annotations) ? annotations : {};
  const text = typeof description === 'string' ? description : '';
  return {
    // A name longer than `maxNameChars` keeps its tool out of the list.
    ...{ name: cutText(name, maxNameChars + 1), description: cutText(text, maxTextChars) },
    inputSchema: { type: 'object' },
    annotations: {
      readOnlyHint: hints['readOnlyHint'] === true,
      idempotentHint: hints['idempotentHint'] === true,
    },
    _meta: schemaOf(inputSchema),
  };
}

/** In place of an unusable schema. */
const fitsNothing = JSON.stringify({ not: {} });

/** The text of a schema of arguments. See `judgedSchema` for its mended form. */
function schemaOf(schema: unknown): Fields {
  if (schema === undefined || schema === null || schema === true) return { [schemaKey]: '{}' };
  if (!isFields(schema)) return { [schemaKey]: fitsNothing, [reasonKey]: 'input_schema is not a schema.' };
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) <= maxSchemaBytes) return { [schemaKey]: text };
  return { [schemaKey]: fitsNothing, [reasonKey]: 'input_schema is larger than 64 KiB.' };
}

/** Models of the gateway's tools get text: of other content its kind and size. */
function contentOf(content: readonly unknown[], structured: unknown): string {
  const parts = content.map((part) => partOf(fieldsOf(part)));
  if (structured !== undefined && structured !== null) {
    // Servers give both, as the specification asks.
    const texts = new TextsOfJson(structured);
    if (!content.some((part) => texts.has(fieldsOf(part)['text']))) parts.push(JSON.stringify(structured));
  }
  return shortened(parts.join('\n'), maxResultChars);
}

function partOf(part: Fields): string {
  const { type } = part;
  switch (type) {
    case 'text':
      return stringOf(part['text']);
    case 'image':
    case 'audio': {
      const [mimeType, data] = [textOf(part['mimeType'], maxNameChars), stringOf(part['data'])];
      return `[${type} ${mimeType}, ${data.length} characters of base64, left out]`;
    }
    case 'resource_link':
      return `[resource ${stringOf(part['uri'])} ${stringOf(part['name'])}]`;
    case 'resource': {
      const resource = fieldsOf(part['resource']);
      if (resource['text'] !== undefined) return stringOf(resource['text']);
      return `[resource ${stringOf(resource['uri'])}, left out]`;
    }
    default:
      return `[${textOf(type, maxNameChars)}, left out]`;
  }
}

function texts(from: Fields, names: readonly string[]): Fields {
  const present = names.filter((name) => from[name] !== undefined && from[name] !== null);
  return Object.fromEntries(present.map((name) => [name, textOf(from[name], maxTokenChars)]));
}

function versionsOf(value: unknown): string[] {
  return listOf(value)
    .slice(0, maxMessages)
    .map((version) => textOf(version, maxNameChars));
}

function isId(value: unknown): value is string | number {
  return Number.isSafeInteger(value) || (typeof value === 'string' && value.length <= maxNameChars);
}

function textOf(value: unknown, maxChars: number): string {
  const text = stringOf(value);
  if (text.length > maxChars) throw invalid();
  return text;
}

function stringOf(value: unknown): string {
  if (typeof value !== 'string') throw invalid();
  return value;
}

function listOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw invalid();
  return value;
}

function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) throw invalid();
  return value;
}

/** PHP writes an empty object as a list. */
function objectOf(value: unknown): Fields {
  return Array.isArray(value) && value.length === 0 ? {} : fieldsOf(value);
}

function invalid(): McpFailure {
  return new McpFailure('invalid');
}
