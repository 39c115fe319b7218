import { numberedWords } from '../answer-text.ts';
import type { Fault } from '../faults.ts';
import { isObject, splitIntoWords } from '../values.ts';
import type { JsonObject } from '../values.ts';

/** Wishes of a request in its `generationConfig` (https://ai.google.dev/api/generate-content#generationconfig). */
export interface Generation {
  /** Null for text; for JSON, the schema of the document, or null in place of one. */
  json: { schema: JsonObject | null } | null;
  /** The words of the thoughts. */
  thoughts: string[];
  /** Whether thoughts are shown. */
  showsThoughts: boolean;
}

export function generationOf({ generationConfig: given }: JsonObject, fault: Fault): Generation {
  const config = isObject(given) ? given : {};
  const { responseMimeType: type, responseJsonSchema: schema, responseSchema: older } = config;
  const wanted = isObject(schema) ? schema : isObject(older) ? inLowerCase(older) : null;
  const thinking = isObject(config['thinkingConfig']) ? config['thinkingConfig'] : null;
  const isOff = thinking === null || thinking['thinkingBudget'] === 0;
  const words = isOff ? [] : splitIntoWords('The simulator thinks about what you said.');
  return {
    json: type === 'application/json' ? { schema: wanted } : null,
    thoughts: fault.thinking === undefined ? words : numberedWords('t', fault.thinking),
    showsThoughts: thinking?.['includeThoughts'] === true,
  };
}

/** An older schema of Google, whose types are in capitals. */
function inLowerCase(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (name, value: unknown) =>
    name === 'type' && typeof value === 'string' ? value.toLowerCase() : value,
  ) as JsonObject;
}
