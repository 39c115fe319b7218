import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { maxSchemaChars } from '../../bounds.ts';
import { factsOf, type FactsOverlay } from '../../model-facts.ts';
import type { Conversation, OutputFormat, Tool } from '../conversation.ts';
import type { DroppedFields } from '../dropped-fields.ts';
import { askedInWords } from '../json-output.ts';
import { anthropicSubset, type AnthropicSubset } from './anthropic-subset.ts';
import { mendedClientSchema, mendedOutputSchema } from './client-schema.ts';

/** The forms of output that an API has. */
export interface OutputRules {
  /** Any JSON object: a mode of the API, or an instruction in the prompt. */
  json: 'mode' | 'words';
  /**
   * Output by a schema, and calls of strict tools: by any schema, by one of an object, by one in the subset of Anthropic, or
   * not at all, so that output is asked for in words.
   */
  schema: 'any' | 'object' | 'subset' | 'words';
  /** False where requests with tools have any output in words. */
  isBesideTools?: false;
}

/**
 * The conversation with schemas that its target takes. Names changed ones. A forced call of a tool in place of a format
 * would end thinking, and calls of the client's own tools.
 */
export function* mendedSchemas(
  conversation: Conversation,
  rules: OutputRules,
  dropped: DroppedFields,
): Steps<Conversation> {
  const tools: Tool[] = [];
  const known = new Set<string>();
  for (const tool of conversation.tools) {
    const key = JSON.stringify([tool.namespace, tool.name]);
    // OpenAI takes two tools of a name, and Anthropic refuses them (https://github.com/docker/docker-agent/issues/2251).
    if (known.has(key)) dropped.ignoreField('tools');
    else tools.push(mendedTool(tool, dropped));
    known.add(key);
    yield;
  }
  const output = mendedOutput(conversation.output, dropped);
  if (rules.isBesideTools === false && tools.length > 0 && output !== null) {
    dropped.ignoreField('output');
    return askedInWords({ ...conversation, tools, output });
  }
  if (rules.schema === 'any' || rules.schema === 'object') {
    const isFormat = output?.kind === 'json' ? rules.json === 'mode' : isTaken(output, rules);
    if (output?.kind === 'schema' && !isFormat) dropped.ignoreField('strictOutput');
    const mended = { ...conversation, tools, output };
    return isFormat ? mended : askedInWords(mended);
  }
  const subset = rules.schema === 'subset' ? new SubsetRequest(dropped) : null;
  const written = output === null ? null : (subset?.output(output) ?? null);
  if (output?.kind === 'schema' && written === null) dropped.ignoreField('strictOutput');
  const exact: Tool[] = [];
  for (const tool of tools) {
    exact.push(tool.isStrict === true ? (subset?.strictTool(tool) ?? loose(tool, dropped)) : tool);
    yield;
  }
  const mended = { ...conversation, tools: exact };
  return written === null ? askedInWords({ ...mended, output }) : { ...mended, output: written };
}

function mendedOutput(output: OutputFormat | null, dropped: DroppedFields): OutputFormat | null {
  const schemaJson = output?.kind === 'schema' ? mendedOutputSchema(output.schemaJson) : null;
  if (output?.kind !== 'schema' || schemaJson === null) return output;
  dropped.ignoreField('outputSchema');
  return { ...output, schemaJson };
}

/** OpenAI takes no choice at the top: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
function isTaken(output: OutputFormat | null, { schema }: OutputRules): boolean {
  if (output?.kind !== 'schema' || schema === 'any' || output.schemaJson.length > maxSchemaChars) return true;
  const { type, anyOf, $ref: ref } = JSON.parse(output.schemaJson) as Fields;
  return type === 'object' ? anyOf === undefined : ref !== undefined;
}

function mendedTool(tool: Tool, dropped: DroppedFields): Tool {
  if (tool.schemaJson === null) return tool;
  const mended = mendedClientSchema(tool.schemaJson);
  if (mended === null) return tool;
  dropped.ignoreField('toolSchema');
  const { schemaJson, note } = mended;
  const description = note === null ? tool.description : [tool.description ?? [], note].flat().join('\n\n');
  return { ...tool, schemaJson, description };
}

function loose(tool: Tool, dropped: DroppedFields): Tool {
  dropped.ignoreField('strict');
  return { ...tool, isStrict: false };
}

/**
 * Limits of all schemas of a request, as its refusals name them ("Too many strict tools (27)", "Schemas contains too many
 * optional parameters (28)", "… too many parameters with union types (23 …, limit: 16)").
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs#schema-complexity-limits
 */
const most = { tools: 20, optional: 24, unions: 16 };

/** The forms of Google's API. */
export const anyOutput: OutputRules = { json: 'mode', schema: 'any' };

/** The forms of OpenAI's APIs: other servers of them take schemas of any value. */
export function openAiOutput(facts: { name: string } & FactsOverlay): OutputRules {
  return { json: 'mode', schema: factsOf(facts).family === 'openai' ? 'object' : 'any' };
}

/** The forms of Claude in all of its APIs. */
export function claudeOutput(facts: { name: string } & FactsOverlay): OutputRules {
  return { json: 'words', schema: factsOf(facts).takesOutputSchema ? 'subset' : 'words' };
}

/** A function without parameters takes no other ones. */
const emptyStrict = '{"type":"object","properties":{},"additionalProperties":false}';

/** The schemas of one request in the subset of Anthropic, within its limits. */
class SubsetRequest {
  readonly #left = { ...most };
  readonly #dropped: DroppedFields;

  constructor(dropped: DroppedFields) {
    this.#dropped = dropped;
  }

  /** Null for a format in words. */
  output(output: OutputFormat): OutputFormat | null {
    const subset = output.kind === 'schema' ? anthropicSubset(output.schemaJson) : null;
    if (subset === null || output.kind === 'json' || !this.#takes(subset, 0)) return null;
    if (subset.isChanged) this.#dropped.ignoreField('outputSchema');
    return { ...output, schemaJson: subset.schemaJson };
  }

  /** Null for a tool that can't be strict. */
  strictTool(tool: Tool): Tool | null {
    if (tool.isFreeform) return tool;
    const subset = anthropicSubset(
      tool.schemaJson === null || hasNoParameters(tool.schemaJson) ? emptyStrict : tool.schemaJson,
    );
    if (subset === null || !this.#takes(subset, 1)) return null;
    if (subset.isChanged) this.#dropped.ignoreField('toolSchema');
    return { ...tool, schemaJson: subset.schemaJson };
  }

  #takes({ optional, unions }: AnthropicSubset, tools: number): boolean {
    const left = this.#left;
    if (left.tools < tools || left.optional < optional || left.unions < unions) return false;
    left.tools -= tools;
    left.optional -= optional;
    left.unions -= unions;
    return true;
  }
}

/** Keywords of a function without parameters. */
const emptyKeywords: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'description',
  '$schema',
]);

function hasNoParameters(schemaJson: string): boolean {
  const { additionalProperties = false, ...schema } = JSON.parse(schemaJson) as Fields;
  const { properties } = schema;
  return (
    isFields(properties) &&
    Object.keys(properties).length === 0 &&
    additionalProperties === false &&
    Object.keys(schema).every((name) => emptyKeywords.has(name))
  );
}
