import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { feeToolsIn, pluginTools, type FeeTool } from '../usage/fee-tools.ts';
import type { TokenClass } from '../usage/usage.ts';
import type { RequestedAmounts } from '../dialect.ts';
import { isAddress, isTextFile } from '../file-types.ts';
import type { MessageAttachments } from '../prompt-parts.ts';
import { limitNames } from '../request-additions.ts';
import { effortIn, type Thinking } from '../request-fields.ts';
import { mostChoices } from '../bounds.ts';

/** Members of requests, by provider, for the number of an answer's tokens available to thoughts. */
const thinkingPaths = [
  { first: 'thinking', others: ['budget_tokens'] },
  { first: 'thinking_budget', others: [] },
  { first: 'reasoning', others: ['max_tokens'] },
  { first: 'thinking_config', others: ['thinking_budget'] },
  { first: 'extra_body', others: ['google', 'thinking_config', 'thinking_budget'] },
];

/** Members of content parts for attachments, and the member of theirs with a text not read as text. */
const dataOfAttachments = Object.entries({
  image_url: 'url',
  video_url: 'url',
  audio_url: 'url',
  input_audio: 'data',
  file: 'file_data',
});

/** Members with tools for a fee. */
const feeNames = ['tools', 'web_search_options', 'search_parameters', 'plugins'];

export function requestedAmounts(fields: Fields, defaults: Fields): RequestedAmounts {
  const attachments = attachmentsIn(listOf(fields['messages']));
  const tier = requestValue(fields, defaults, 'service_tier');
  const hasTools = feeNames.some((name) => name in fields || name in defaults);
  return {
    choices: choicesIn(fields, defaults),
    maxTokens: maxTokensIn(fields, defaults),
    serviceTier: typeof tier === 'string' ? tier : null,
    classes: classesIn(requestValue(fields, defaults, 'modalities'), attachments.audio),
    attachments: { count: attachments.count, bytes: attachments.bytes },
    feeTools: hasTools ? feeToolsOf(fields, defaults) : [],
  };
}

/** Plugins are left out by translation, so they cost nothing at models of other APIs. */
function feeToolsOf(fields: Fields, defaults: Fields): FeeTool[] {
  const plugins = pluginTools(requestValue(fields, defaults, 'plugins'));
  return [
    ...feeToolsIn(toolsIn(fields, defaults), { counted: 'never' }),
    ...feeToolsIn(plugins, { counted: 'never', onlyIn: 'chat' }),
  ];
}

/** Tools, and searches by members of their own: of OpenAI's models for search and of xAI. */
function* toolsIn(fields: Fields, defaults: Fields): Generator {
  yield* listOf(fields['tools']);
  const search = { type: 'web_search', max_uses: choicesIn(fields, defaults) };
  if (isObject(requestValue(fields, defaults, 'web_search_options'))) yield search;
  const parameters = requestValue(fields, defaults, 'search_parameters');
  if (isObject(parameters) && parameters['mode'] !== 'off') yield { type: 'web_search' };
}

export function choicesIn(fields: Fields, defaults: Fields): number {
  const n = requestValue(fields, defaults, 'n');
  // JSON's 1e999 is Infinity.
  return typeof n === 'number' ? Math.min(mostChoices, Math.max(1, n)) : 1;
}

export function thinkingIn(fields: Fields, defaults: Fields): Thinking {
  const { type } = Object(requestValue(fields, defaults, 'thinking')) as Fields;
  const { effort } = Object(requestValue(fields, defaults, 'reasoning')) as Fields;
  const word = effortIn(requestValue(fields, defaults, 'reasoning_effort') ?? effort);
  return { budgets: budgetsIn(fields, defaults), effort: type === 'disabled' ? 'none' : word };
}

function budgetsIn(fields: Fields, defaults: Fields): number[] {
  const budgets: number[] = [];
  for (const { first, others } of thinkingPaths) {
    let value = requestValue(fields, defaults, first);
    for (const name of others) value = isObject(value) ? value[name] : undefined;
    if (typeof value === 'number') budgets.push(value);
  }
  return budgets;
}

/** A member of the client's, even with null, replaces the default. */
function requestValue(fields: Fields, defaults: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : defaults[name];
}

/** A client with one name of the limit, even with null, replaces the default of either. */
function maxTokensIn(fields: Fields, defaults: Fields): number | null {
  const hasLimit = limitNames.some((name) => Object.hasOwn(fields, name));
  const source = hasLimit ? fields : defaults;
  const limits = limitNames.map((name) => source[name]).filter((value) => typeof value === 'number');
  // Some servers take a negative limit as unlimited.
  return limits.length > 0 && limits.every((value) => value >= 0) ? Math.max(...limits) : null;
}

function classesIn(modalities: unknown, hasAudio: boolean): TokenClass[] {
  const classes: TokenClass[] = hasAudio ? ['inputAudio'] : [];
  if (!Array.isArray(modalities)) return classes;
  if (modalities.includes('audio')) classes.push('outputAudio');
  if (modalities.includes('image')) classes.push('outputImage');
  return classes;
}

interface ChatAttachments extends MessageAttachments {
  /** Whether one of them is sent as audio. */
  audio: boolean;
}

export function attachmentsIn(messages: readonly unknown[]): ChatAttachments {
  const attachments: ChatAttachments = { count: 0, bytes: 0, linked: 0, audio: false };
  for (const message of messages) {
    if (!isFields(message)) continue;
    const { content, audio } = message;
    // An earlier answer in audio, by its id.
    if (isObject(audio)) add(attachments, 'input_audio', audio['data']);
    if (!Array.isArray(content)) continue;
    for (const part of content as (Fields | null)[]) {
      for (const [name, member] of dataOfAttachments) {
        const value = part?.[name];
        if (isObject(value) && !isTextFile(value['file_data'], value['filename']))
          add(attachments, name, value[member]);
      }
    }
  }
  return attachments;
}

function add(attachments: ChatAttachments, name: string, data: unknown): void {
  attachments.count += 1;
  attachments.linked += isAddress(data) ? 1 : 0;
  attachments.bytes += typeof data === 'string' ? data.length : 0;
  attachments.audio ||= name === 'input_audio' || name === 'audio_url';
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
