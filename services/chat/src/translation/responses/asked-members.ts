import type { Fields } from '@gatehouse/kit/fields';
import { RawJson, type JsonSource } from '../../wire/json-text.ts';

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
export function askedMembers(fields: Fields, source: JsonSource): Fields {
  const shown: Fields = {};
  let bytes = 0;
  for (const name of repeated) {
    if ((fields[name] ?? null) === null) continue;
    const size = source.sizeOf(name);
    if (bytes + size > mostBytes) continue;
    bytes += size;
    shown[name] = new RawJson(withFormat(name, fields[name], source.textOf(name) ?? 'null'));
  }
  return shown;
}

function withFormat(name: string, value: unknown, text: string): string {
  if (name !== 'text' || Object.hasOwn(Object(value) as Fields, 'format')) return text;
  return JSON.stringify({ format: { type: 'text' }, ...(Object(value) as Fields) });
}
