import type { Fields } from '@gatehouse/kit/fields';
import type { CutTexts } from '../wire/cut-texts.ts';
import { RawJson, type JsonSource } from '../wire/json-text.ts';

/** Fields of a request that its response echoes. `ClientView` sets the ids of stored responses. */
const echoed = [
  ...['instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'temperature', 'top_p'],
  ...['max_output_tokens', 'reasoning', 'text', 'metadata', 'truncation', 'user', 'top_logprobs'],
];

/** Limit of all echoed fields: a stream has them three times. */
const maxBytes = 256 * 1024;

/**
 * The fields of a request that its response echoes, as the client wrote them. `text` gets the default format if it has
 * none. A field that exceeds the limit together with those before it is shown with its default.
 */
export function echoedFields(fields: Fields, source: JsonSource, texts: CutTexts): Fields {
  const values: Fields = {};
  let left = maxBytes;
  for (const name of echoed) {
    if ((fields[name] ?? null) === null) continue;
    const text = texts.uncutJson(source.textOf(name) ?? 'null', left);
    if (text === null) continue;
    left -= Buffer.byteLength(text);
    values[name] = new RawJson(withFormat(name, text));
  }
  return values;
}

function withFormat(name: string, text: string): string {
  const value = name === 'text' ? (Object(JSON.parse(text)) as Fields) : {};
  if (name !== 'text' || Object.hasOwn(value, 'format')) return text;
  return JSON.stringify({ format: { type: 'text' }, ...value });
}
