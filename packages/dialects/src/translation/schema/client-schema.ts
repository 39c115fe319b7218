import { isFields, type Fields } from '@gatehouse/kit/fields';
import { maxMendedChars, maxNoteChars, maxSchemaChars } from '../../bounds.ts';
import { RawJson, writeJson } from '../../wire/json-text.ts';
import { isSoundSchema } from './sound-schema.ts';
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
  return schemaJson.length > maxMendedChars ? null : mendedAt(schemaJson);
}

/** Null too for a schema nested too deeply. */
function mendedAt(schemaJson: string): ClientSchema | null {
  try {
    const fields = exactFields(schemaJson);
    const { schema } = judgedSchema(fields);
    if (schema !== null) return { schemaJson: writeJson(schema), note: noteOf(fields) };
    const typed = withType(fields);
    return typed === null ? null : { schemaJson: writeJson(typed), note: null };
  } catch (error) {
    if (error instanceof RangeError) return null;
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

/** The choices of a schema's top, which the mended one allows all together. */
function noteOf({ anyOf, oneOf }: Fields): string | null {
  const [name, choices] = anyOf === undefined ? ['oneOf', oneOf] : ['anyOf', anyOf];
  if (!Array.isArray(choices) || choices.length < 2) return null;
  const text = writeJson(choices);
  return text.length > maxNoteChars ? null : `The arguments match this JSON Schema: {"${name}":${text}}`;
}
