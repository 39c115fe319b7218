import type { Fields } from '@gatehouse/kit/fields';
import { openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { appendTo, type Changes, type Edit } from './wire/json-edits.ts';
import { named, type Member } from './wire/json-members.ts';

/**
 * Parsers differ in which of two equal names they take, so every one of them is replaced. A body with the name already is
 * not copied.
 */
export function replaceModel(body: Buffer, members: readonly Member[], model: string, edits: Edit[]): void {
  const text = JSON.stringify(model);
  for (const { name, valueStart: at, valueEnd: until } of members)
    if (name === 'model' && body.toString('latin1', at, until) !== text) edits.push({ at, until, text });
}

/** Puts the agent's prompt before the system text of the client: a text, or a list, which gets `element`. */
export function addSystem(
  { body, members, name }: { body: Buffer; members: readonly Member[]; name: string },
  { prompt, element }: { prompt: string; element: string },
  { edits, added }: Changes,
): void {
  const systems = named(members, name);
  if (systems.length === 0) added.push(`"${name}":${JSON.stringify(prompt)}`);
  for (const { valueStart, valueEnd } of systems) {
    const at = valueStart + 1;
    if (body[valueStart] === quote) {
      const text = JSON.stringify(valueEnd - valueStart > 2 ? `${prompt}\n\n` : prompt).slice(1, -1);
      edits.push({ at, until: at, text });
    } else if (body[valueStart] === openBracket) {
      const isEmpty = skipSpace(body, at) === valueEnd - 1;
      edits.push({ at, until: at, text: `${element}${isEmpty ? '' : ','}` });
    } else edits.push({ at: valueStart, until: valueEnd, text: JSON.stringify(prompt) });
  }
}

/** An API's names of the parameters of an agent, which have those of chat completions. */
export type ParameterNames = Readonly<
  { max_tokens: string } & Partial<Record<'stop' | 'temperature' | 'top_p' | 'seed', string>>
>;

/** The parameters of an agent as an API has them. Those without a field in it are left out. */
export function parametersIn(names: ParameterNames, defaults: Fields): Fields {
  const { max_completion_tokens, max_tokens, stop } = defaults;
  const stops = typeof stop === 'string' ? [stop] : stop;
  const values: Fields = {
    ...defaults,
    max_tokens: max_completion_tokens ?? max_tokens,
    stop: Array.isArray(stops) && stops.length > 0 ? stops : undefined,
  };
  const taken = Object.entries(names).flatMap(([name, field]) => {
    const value = values[name];
    return typeof value === 'number' || (name === 'stop' && value !== undefined) ? [[field, value]] : [];
  });
  return Object.fromEntries(taken) as Fields;
}

/** Names of the parameters left out. */
export function unsupportedIn(names: ParameterNames, defaults: Fields): string[] {
  return Object.keys(defaults).filter(
    (name) => name !== 'max_completion_tokens' && !Object.hasOwn(names, name),
  );
}

/** A request of an API with parameters as members of its body. */
interface ParameterMembers {
  body: Buffer;
  members: readonly Member[];
  /** The agent's parameters, in the names of the API. Those in the client's request are not added. */
  parameters: Fields;
  /** The API's name for the limit of an answer. */
  limitName: string;
}

/** Adds an agent's parameters, and lowers the limit of the answer: the client's, the agent's, or an added one. */
export function addParameters(
  { body, members, parameters, limitName }: ParameterMembers,
  maxTokens: { most: number } | null,
  { edits, added }: Changes,
): void {
  const most = maxTokens?.most ?? Infinity;
  const missing = Object.entries(parameters).filter(([name]) => named(members, name).length === 0);
  for (const [name, value] of missing)
    added.push(
      `${JSON.stringify(name)}:${JSON.stringify(name === limitName ? Math.min(Number(value), most) : value)}`,
    );
  if (maxTokens === null) return;
  const limits = named(members, limitName);
  for (const { valueStart: at, valueEnd: until } of limits) {
    const requested = Number(body.toString('latin1', at, until));
    if (!(requested >= 0 && requested < most)) edits.push({ at, until, text: String(most) });
  }
  if (limits.length === 0 && !Object.hasOwn(parameters, limitName)) added.push(`"${limitName}":${most}`);
}

/** A request of an API with `tools`, `messages` and `tool_choice` as members of its body. */
interface ToolMembers {
  body: Buffer;
  members: readonly Member[];
  /** Writes a choice of tools as JSON, in place of the client's if it made one. */
  choiceText: (choice: 'auto' | 'none', toolChoice: Member | null) => string;
}

/** Changes of a request for the gateway's own tools. */
export interface ToolRewrite {
  /** Texts of `toolText`, joined with commas, put behind the client's tools. Not empty. */
  definitions: Buffer;
  /** JSON texts, put behind the client's messages. */
  messages: readonly string[];
  /** Replaces what the client says of the choice of tools; null leaves it. */
  choice: 'auto' | 'none' | null;
}

/** Adds what the gateway's own tools need. */
export function addTools(
  { body, members, choiceText }: ToolMembers,
  { definitions, messages, choice }: ToolRewrite,
  { edits, added }: Changes,
): void {
  const toolMembers = named(members, 'tools');
  if (toolMembers.length === 0) added.push(['"tools":[', definitions, ']']);
  for (const member of toolMembers) appendTo(body, member, definitions, edits);
  const last = named(members, 'messages').at(-1);
  if (last !== undefined && messages.length > 0) appendTo(body, last, messages.join(','), edits);
  if (choice === null) return;
  const choices = named(members, 'tool_choice');
  for (const member of choices) {
    const { valueStart: at, valueEnd: until } = member;
    edits.push({ at, until, text: choiceText(choice, member) });
  }
  if (choices.length === 0) added.push(`"tool_choice":${choiceText(choice, null)}`);
}

/** OpenAI's two names of one limit. */
export const limitNames = ['max_completion_tokens', 'max_tokens'] as const;
export type LimitName = (typeof limitNames)[number];

/** The name understood by a provider for all of its models: OpenAI's newer ones refuse the old one. */
export function limitNameAt(baseUrl: string): LimitName {
  const { hostname } = new URL(baseUrl);
  return /(?:^|\.)(?:openai|azure)\.com$/.test(hostname) ? 'max_completion_tokens' : 'max_tokens';
}

/**
 * Whether a host takes `thinking` in chat completions, as those of Moonshot and DeepSeek do. Others refuse it for the same
 * models (https://github.com/earendil-works/pi/issues/9645) or ignore it
 * (https://github.com/anomalyco/opencode/issues/25001).
 */
export function takesThinkingAt(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.com|deepseek\.com)$/.test(hostname);
}

/** The limit of an answer's tokens. */
export interface TokenLimit {
  most: number;
  /** The name of the limit in chat completions. */
  field: LimitName;
}
