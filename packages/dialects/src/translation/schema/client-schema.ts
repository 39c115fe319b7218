import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { maxMendedChars, maxNoteChars, maxSchemaChars } from '../../bounds.ts';
import { RawJson, writeJson } from '../../wire/json-text.ts';
import { mendedSchema, Unusable } from './mended-schema.ts';
import { isSoundInside, isSoundSchema } from './sound-schema.ts';
import { judgedSchema } from './tool-schema.ts';

/** The schema of a client's tool as every provider takes it. */
export interface ClientSchema {
  schemaJson: string;
  /** Choices between arguments in the schema, for the description of the tool; null without any. */
  note: string | null;
}

/**
 * Mends the schema of a client's tool by the rules for MCP servers, since a provider refuses the whole request for it:
 * Anthropic takes no combinators at the top, OpenAI wants `properties` and `items`, Bedrock a type. Null for a schema
 * to be written as it is: a sound one, one without a clear meaning, or one too large to be mended within 50 ms.
 *
 * - https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 * - https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html
 *
 * `schemaJson`: a valid JSON object.
 */
export function mendedClientSchema(schemaJson: string): ClientSchema | null {
  if (schemaJson.length > maxSchemaChars) return null;
  const parsed = JSON.parse(schemaJson) as Fields;
  if (isSoundSchema(parsed)) return null;
  const filled = { ...emptyObject, ...parsed };
  if (isSoundSchema(filled)) return { schemaJson: objectText(schemaJson, parsed), note: null };
  if (schemaJson.length <= maxMendedChars) return mendedTool(schemaJson);
  const isOfObject = 'type' in parsed && 'properties' in parsed;
  return isOfObject ? null : { schemaJson: objectText(schemaJson, parsed), note: null };
}

/**
 * Mends the schema of an output likewise, but for its top, which may be of any value. Null for one to be written as it
 * is.
 */
export function mendedOutputSchema(schemaJson: string): string | null {
  if (schemaJson.length > maxMendedChars || isSoundInside(JSON.parse(schemaJson))) return null;
  return unlessUnclear(() => writeJson(mendedSchema(exactFields(schemaJson)).schema));
}

function mendedTool(schemaJson: string): ClientSchema | null {
  return unlessUnclear(() => {
    const { not, enum: values, const: value, ...fields } = exactFields(schemaJson);
    const { schema } = judgedSchema(fields);
    if (schema !== null)
      return { schemaJson: writeJson(schema), note: noteOf({ ...fields, not, enum: values, const: value }) };
    const typed = 'type' in fields && isFields(fields['properties']) ? null : withType(fields);
    return typed === null ? null : { schemaJson: writeJson(typed), note: null };
  });
}

/** Null for a schema without a clear meaning, or nested too deeply. */
function unlessUnclear<Value>(mend: () => Value): Value | null {
  try {
    return mend();
  } catch (error) {
    if (error instanceof RangeError || error instanceof Unusable) return null;
    throw error;
  }
}

const emptyObject = { type: 'object', properties: {} };

/** The text with the members that are missing in it, at its beginning. */
function objectText(schemaJson: string, parsed: Fields): string {
  const missing = Object.entries(emptyObject).filter(([name]) => !(name in parsed));
  const added = missing.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const others = schemaJson.trimStart().slice(1);
  return `{${added.join(',')}${Object.keys(parsed).length > 0 ? ',' : ''}${others}`;
}

/** The JSON value, with numbers as written where JavaScript would write them in another way. */
function exactFields(json: string): Fields {
  const reviver = (_name: string, value: unknown, { source }: { source?: string } = {}): unknown =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? new RawJson(source)
      : value;
  return JSON.parse(json, reviver) as Fields;
}

/** An unclear schema at least as one of an object. */
function withType({ type = 'object', properties, ...others }: Fields): Fields | null {
  if (type !== 'object' || !isFields(properties ?? {})) return null;
  return { type, properties: properties ?? {}, ...others };
}

/** Keywords of a schema's top that the mended one lacks, so it allows more. */
function noteOf({ anyOf, oneOf, not, enum: values, const: value }: Fields): string | null {
  const choices = { ...(listOf(anyOf).length > 1 && { anyOf }), ...(listOf(oneOf).length > 1 && { oneOf }) };
  const text = writeJson({ ...choices, not, enum: values, const: value });
  return text === '{}' || text.length > maxNoteChars ? null : `The arguments match this JSON Schema: ${text}`;
}
