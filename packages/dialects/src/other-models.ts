import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { textOf } from './translation/fields.ts';
import { maxDepth } from './bounds.ts';

/**
 * Models that a provider calls beside the model of a request:
 *
 * - https://platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool
 * - https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
 * - https://openrouter.ai/docs/guides/routing/model-fallbacks
 * - https://openrouter.ai/docs/guides/features/server-tools/overview
 * - https://openrouter.ai/docs/guides/features/plugins
 *
 * OpenRouter's Fusion calls a panel of expensive models where a request names no other ones.
 */

/** Tools of OpenRouter, and the parameters without which it, or the calling model, chooses further models. */
const openRouterTools = new Map<string, readonly string[]>([
  ['advisor', ['model']],
  ['fusion', ['analysis_models']],
  ['image_generation', ['model']],
  ...[
    ...['apply_patch', 'bash', 'datetime', 'experimental__search_models', 'files', 'shell', 'subagent'],
    ...['tool_search', 'web_fetch', 'web_search'],
  ].map((name) => [name, []] as const),
]);

/** The same of its plugins. Those of routers count for models that are routers themselves. */
const openRouterPlugins = new Map<string, readonly string[]>([
  ['fusion', ['analysis_models', 'model']],
  ...[
    ...['auto-beta-router', 'auto-router', 'context-compression', 'file-parser', 'moderation'],
    ...['pareto-router', 'response-healing', 'web', 'web-fetch'],
  ].map((id) => [id, []] as const),
]);

/** Members of Vertex AI's configuration by which it chooses a model: each stands for these models by its name. */
export const choosingMembers = { routing: 'autoMode', preference: 'modelConfig' } as const;

const choosingNames: ReadonlySet<string> = new Set(
  Object.values(choosingMembers).map((name) => name.toLowerCase()),
);

/** Whether a name of `otherModels` stands for models that a provider chooses. */
export function isProvidersChoice(name: string): boolean {
  return /^openrouter:/i.test(name) || choosingNames.has(name.toLowerCase());
}

/** The names in an entry of `models` or `fallbacks`, or in a tool or plugin. */
export function namesOfModels(entry: unknown): string[] {
  const { model, models, analysis_models: panel } = Object(entry) as Fields;
  return [entry, model, models, panel].flat().filter((name) => typeof name === 'string');
}

/** The models of tools. A tool whose models are unknown stands for them by its type. */
export function* modelsOfTools(tools: Iterable<unknown>, depth = 0): Generator<string> {
  for (const tool of tools) {
    if (!isFields(tool) || !isProvidersTool(tool)) continue;
    const type = textOf(tool['type']);
    const parameters = Object(tool['parameters']) as Fields;
    yield* namesOfModels(tool);
    yield* namesOfModels(parameters);
    const name = /^openrouter:(.*)$/is.exec(type)?.[1];
    const isKnown = name === undefined || areNamed(openRouterTools.get(name), parameters);
    if (!isKnown || depth > maxDepth) yield type;
    else yield* modelsOfTools([tool['tools'], parameters['tools']].flatMap(listOf), depth + 1);
  }
}

/** The same of OpenRouter's plugins. */
export function* modelsOfPlugins(plugins: unknown): Generator<string> {
  for (const plugin of listOf(plugins)) {
    const { id, enabled, parameters, tools } = Object(plugin) as Fields;
    const needed = openRouterPlugins.get(textOf(id));
    if (needed !== undefined && enabled === false) continue;
    yield* namesOfModels(plugin);
    yield* namesOfModels(parameters);
    if (isFields(plugin) && !areNamed(needed, plugin)) yield `openrouter:${textOf(id)}`;
    yield* modelsOfTools(listOf(tools));
  }
}

/** Tools of clients call no model, and pictures are drawn at a price of their own. */
function isProvidersTool({ type }: Fields): boolean {
  return typeof type === 'string' && !/^(function|custom|image_generation)$/.test(type);
}

function areNamed(needed: readonly string[] | undefined, parameters: Fields): boolean {
  return needed?.every((name) => namesOfModels({ models: parameters[name] }).length > 0) === true;
}
