import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { BilledTool, ToolCalls, Usage } from './usage.ts';
import type { DialectName } from '@gatehouse/contract/dialects';
import { mostToolCalls, usualToolCalls } from '../bounds.ts';

/** A tool of a request, run by the provider itself for a fee. */
export interface FeeTool {
  /** As its client names it. */
  type: string;
  /** The applicable price by the call; null without one in a catalogue. */
  billed: BilledTool | null;
  /** Calls at most, where the request says so. */
  most: number | null;
  /** How an answer says the number of its calls. */
  counted: 'in its items' | 'at its end' | 'never';
  /** Whether its client offers it with each request, so it may be left out. */
  isHint: boolean;
  /** The only API whose models get it: translation leaves it out. Absent where all may. */
  onlyIn?: DialectName;
}

const billedTypes: readonly (readonly [RegExp, BilledTool])[] = [
  [/^web_search/, 'web_search'],
  [/^file_search/, 'file_search'],
  [/^(code_interpreter|code_execution_)/, 'code_interpreter'],
  [/^image_generation/, 'image_generation'],
  [/^advisor_/, 'advisor'],
];

/** Tools of clients, and those of providers at no more than the cost of their tokens. */
const withoutFee =
  /^(function|custom|namespace|mcp|mcp_toolset|tool_search|local_shell|shell|apply_patch|computer|computer_use_preview)$|^(bash|text_editor|computer|memory|web_fetch)_\d|^tool_search_tool_/;

const maxTypeChars = 64;

/** The tools of a list with a fee, each price once. */
export function feeToolsIn(
  tools: Iterable<unknown>,
  {
    counted,
    isHint = () => false,
    ...only
  }: Pick<FeeTool, 'counted' | 'onlyIn'> & { isHint?: (type: string, tool: unknown) => boolean },
): FeeTool[] {
  const byName = new Map<string, FeeTool>();
  for (const tool of tools) {
    if (!isFields(tool)) continue;
    const { type } = tool;
    if (typeof type !== 'string' || withoutFee.test(type)) continue;
    const billed = billedAs(type);
    const made = {
      type: type.slice(0, maxTypeChars),
      billed,
      counted,
      most: boundIn(tool),
      isHint: isHint(type, tool),
      ...only,
    };
    const key = `${billed} ${made.isHint}`;
    const same = byName.get(key);
    byName.set(key, same === undefined ? made : { ...same, most: sumOf(same.most, made.most) });
  }
  return [...byName.values()];
}

/** Plugins of OpenRouter at no more than the cost of their tokens: https://openrouter.ai/docs/guides/features/plugins */
const pluginsWithoutFee =
  /^(auto-beta-router|auto-router|context-compression|pareto-router|response-healing)$/;
/** Others have no member that turns them off. */
const switchedPlugins = /^(web|fusion|file-parser)$/;
/** https://openrouter.ai/docs/guides/overview/multimodal/pdfs#pricing */
const enginesWithoutFee = /^(cloudflare-ai|native|pdf-text)$/;

/** The plugins of a request with a fee, as tools. Only the price of a search is known. */
export function* pluginTools(plugins: unknown): Generator<Fields> {
  for (const plugin of listOf(plugins)) {
    if (!isFields(plugin)) continue;
    const { id, enabled, pdf } = plugin;
    const isOff = enabled === false && isOne(switchedPlugins, id);
    const parsesFree = id === 'file-parser' && isOne(enginesWithoutFee, (Object(pdf) as Fields)['engine']);
    if (isOff || parsesFree || isOne(pluginsWithoutFee, id)) continue;
    yield { type: id === 'web' ? 'web_search' : `openrouter:${typeof id === 'string' ? id : ''}` };
  }
}

function isOne(pattern: RegExp, name: unknown): boolean {
  return typeof name === 'string' && pattern.test(name);
}

/** The tool as which a type is billed by the call; null for others. */
export function billedAs(type: string): BilledTool | null {
  return billedTypes.find(([pattern]) => pattern.test(type))?.[1] ?? null;
}

/** Anthropic's bound of one tool. */
function boundIn({ max_uses: most }: Fields): number | null {
  return callsOf(most);
}

/** A bound of calls; null otherwise. */
export function callsOf(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 ? Math.min(mostToolCalls, Math.ceil(value)) : null;
}

function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

/** The calls reserved for tools; those without a price are left out. */
export function reservedCalls(tools: readonly FeeTool[]): ToolCalls {
  const calls: ToolCalls = {};
  for (const { billed, most } of tools)
    if (billed !== null) calls[billed] = (calls[billed] ?? 0) + (most ?? usualToolCalls);
  return calls;
}

/** The tools with calls not counted by an answer: it has no counts, or broke off before. */
export function uncountedTools<Tool extends Pick<FeeTool, 'counted'>>(
  tools: readonly Tool[],
  usage: Usage,
  { brokeOff }: { brokeOff: boolean },
): readonly Tool[] {
  if (usage.toolCalls !== undefined || usage.inputTokens + usage.outputTokens === 0) return [];
  const lacksEnd = brokeOff || usage.estimated;
  return tools.filter(({ counted }) => counted === 'never' || (counted === 'at its end' && lacksEnd));
}

/** The tools of several requests together. */
export function sumTools(sum: readonly FeeTool[], tools: readonly FeeTool[]): FeeTool[] {
  const byKind = new Map(sum.map((tool) => [tool.billed, tool]));
  for (const tool of tools) {
    const most = (byKind.get(tool.billed)?.most ?? 0) + (tool.most ?? usualToolCalls);
    byKind.set(tool.billed, { ...tool, most, isHint: false });
  }
  return [...byKind.values()];
}
