import type { Fields } from '@gatehouse/kit/fields';
import type { CutTexts } from '../wire/cut-texts.ts';
import { RawJson, type JsonSource } from '../wire/json-text.ts';

/** Members of a request that its response repeats. Names of kept responses are shown by a view. */
const repeated = [
  ...['instructions', 'tools', 'tool_choice', 'parallel_tool_calls', 'temperature', 'top_p'],
  ...['max_output_tokens', 'reasoning', 'text', 'metadata', 'truncation', 'user', 'top_logprobs'],
];

/** All that is repeated: a stream has it three times. */
const mostBytes = 256 * 1024;

/**
 * The members of a request that its response shows as its client wrote them. A text without a format has the default one.
 * One that is too large together with those before it is shown as by default.
 */
export function askedMembers(fields: Fields, source: JsonSource, texts: CutTexts): Fields {
  const shown: Fields = {};
  let left = mostBytes;
  for (const name of repeated) {
    if ((fields[name] ?? null) === null) continue;
    const text = texts.uncutJson(source.textOf(name) ?? 'null', left);
    if (text === null) continue;
    left -= Buffer.byteLength(text);
    shown[name] = new RawJson(withFormat(name, text));
  }
  return shown;
}

function withFormat(name: string, text: string): string {
  const value = name === 'text' ? (Object(JSON.parse(text)) as Fields) : {};
  if (name !== 'text' || Object.hasOwn(value, 'format')) return text;
  return JSON.stringify({ format: { type: 'text' }, ...value });
}
