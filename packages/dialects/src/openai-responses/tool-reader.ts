import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { offeredTools } from './hosted-calls.ts';
import type { Tool } from '../translation/conversation.ts';
import { booleanIn, textIn, textOf } from '../translation/fields.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { cachePointOf } from '../translation/cache-points.ts';
import type { DroppedFields } from '../translation/dropped-fields.ts';
import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { freeformText } from '../translation/tool-names.ts';

/** Translated members of tools, beside those common to all. */
const membersOf: Readonly<Record<string, readonly string[]>> = {
  function: ['parameters', 'strict'],
  custom: ['format'],
  namespace: ['tools'],
};

/** Deeper than namespaces are nested. */
const maxDepth = 2;

interface Place {
  at: string;
  source: JsonSource | null;
  dropped: DroppedFields;
  namespace: string | null;
  depth: number;
}

/** The tools of a request, also those in namespaces and among the items of its input, which Codex sends. */
export function* readTools(fields: Fields, source: JsonSource, dropped: DroppedFields): Steps<Tool[]> {
  const place = { dropped, namespace: null, depth: 0 };
  const tools = yield* toolsIn(fields['tools'], { ...place, at: 'tools', source: source.member('tools') });
  const input = source.member('input');
  for (const [index, item] of listOf(fields['input']).entries()) {
    const { type, tools: list } = Object(item) as Fields;
    if (type !== 'additional_tools') continue;
    const from = input?.element(index)?.member('tools') ?? null;
    tools.push(...(yield* toolsIn(list, { ...place, at: `input[${index}].tools`, source: from })));
  }
  return tools;
}

function* toolsIn(list: unknown, place: Place): Steps<Tool[]> {
  const tools: Tool[] = [];
  for (const [index, tool] of listOf(list).entries()) {
    const at = `${place.at}[${index}]`;
    const source = place.source?.element(index) ?? null;
    tools.push(...(yield* toolOf(tool, { ...place, at, source })));
    yield;
  }
  return tools;
}

function* toolOf(tool: unknown, place: Place): Steps<Tool[]> {
  const { source, dropped, namespace, depth, at } = place;
  const { type } = Object(tool) as Fields;
  if (offeredTools.has(type)) {
    dropped.ignore(`tools.${String(type)}`);
    return [];
  }
  const names = ['type', 'name', 'description', ...(membersOf[String(type)] ?? [])] as const;
  const fields = dropped.members<string>(tool, 'tools', names);
  const { name, description, parameters, strict, format } = fields;
  const named = { name: textOf(name), namespace, ...cachePointOf(tool) };
  if (type === 'function') {
    const schemaJson = isFields(parameters) ? (source?.textOf('parameters') ?? null) : null;
    const isStrict = booleanIn(strict);
    return [{ ...named, description: textIn(description), schemaJson, isFreeform: false, isStrict }];
  }
  if (type === 'custom') {
    const text = freeformText(description, format, { dropped, path: 'tools.format' });
    return [{ ...named, description: text, schemaJson: null, isFreeform: true, isStrict: null }];
  }
  if (type === 'namespace' && depth < maxDepth) {
    const from = source?.member('tools') ?? null;
    if (description !== undefined) dropped.ignore('tools.description');
    return yield* toolsIn(fields['tools'], {
      ...place,
      at: `${at}.tools`,
      source: from,
      namespace: named.name,
      depth: depth + 1,
    });
  }
  throw dropped.unsupportedParameter(
    `${at}.type`,
    `The model has no tool of the type ${String(type).slice(0, 64)}.`,
  );
}
