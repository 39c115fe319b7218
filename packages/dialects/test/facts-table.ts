import type { KnownFacts } from '../src/known-facts.ts';
import { factsOf, rowsFor } from '../src/model-facts.ts';

/** The table of facts by name in `docs/operators/models.md`. */

export const [begin, end] = ['<!-- facts: made by `make gen` -->', '<!-- /facts -->'];

/** A name for each set of facts. */
const names = [
  ...['claude-3-5-haiku', 'claude-sonnet-4', 'claude-sonnet-4-5', 'claude-haiku-4-5', 'claude-opus-4-6'],
  ...['claude-opus-4-7', 'claude-opus-4-8', 'claude-sonnet-5', 'claude-opus-5', 'claude-fable-5'],
  ...['claude-fable-5-1', 'claude-haiku-5-5', 'claude-sonnet-5-5', 'claude-opus-5-5'],
  ...[
    'gpt-4.1',
    'gpt-5-chat-latest',
    'o3',
    'gpt-5',
    'gpt-5-pro',
    'gpt-5-codex',
    'gpt-5.1',
    'gpt-5.2-pro',
    'gpt-5.3-codex',
    'gpt-5.4',
    'gpt-5.5',
    'gpt-5.6',
  ],
  ...['gpt-6-luna', 'gpt-6-astra', 'gemini-2.5-flash', 'gemini-2.5-flash-lite', 'gemini-2.5-pro'],
  ...['gemini-3-flash', 'gemini-3-pro', 'gemini-3.5-flash', 'gemini-3.6-flash'],
  ...['gemini-4-argon', 'gemini-4-hydrogen'],
  ...['kimi-k2.5', 'deepseek-v4', 'grok-4.1', 'grok-4.3', 'grok-4.5', 'nova-pro'],
];

export function factsTable(): string {
  const heading = ['Model', 'Sampling', 'Thinking', 'Switched off by', 'Forced calls', 'Others', 'Sources'];
  const lines = [heading, heading.map(() => '---'), ...names.map(line)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function line(name: string): string[] {
  const facts = factsOf({ name, takesThinking: true });
  const links = [...new Set(rowsFor(name).map(({ source }) => source))];
  const sources = links.map((source, index) => `[${index + 1}](${source})`).join(' ');
  const cells = [samplingOf(facts), sizeOf(facts), offOf(facts), forcedOf(facts), othersOf(facts)];
  return [`\`${name}\``, ...cells, sources];
}

function samplingOf({ sampling, takesPenalties }: KnownFacts): string {
  const texts = { all: 'yes', none: 'no', offOnly: 'without thinking' };
  return takesPenalties || sampling === 'none' ? texts[sampling] : `${texts[sampling]}, no penalties`;
}

function sizeOf({ reasoning, thinkingSize: size }: KnownFacts): string {
  if (reasoning === false) return 'no';
  if (size.by === 'budget') return `budget, ${size.least} to ${size.most}`;
  return size.words.length === 0 ? 'no choice' : size.words.join(', ');
}

function offOf(facts: KnownFacts): string {
  const { family, reasoning, thinkingSize: size, thinkingOff } = facts;
  if (reasoning === false) return '–';
  if (family === 'claude') {
    const texts = { omit: 'no `thinking`', never: 'nothing; effort `low`' };
    return thinkingOff in texts ? texts[thinkingOff as keyof typeof texts] : `\`${thinkingOff}\``;
  }
  if (size.by === 'budget') return size.off === 0 ? 'budget 0' : `nothing; budget ${size.off}`;
  const [least] = size.words;
  if (least === 'none') return facts.offField === 'thinking' ? '`thinking` at hosts of its maker' : '`none`';
  return least === undefined ? 'nothing' : `nothing; \`${least}\``;
}

function forcedOf({ forcedCalls }: KnownFacts): string {
  return { any: 'yes', offOnly: 'without thinking', never: 'no' }[forcedCalls];
}

function othersOf(facts: KnownFacts): string {
  const { anthropic, bedrock } = facts.context1m;
  const texts = {
    'no stop sequences': !facts.takesStop,
    'answer must not be begun': !facts.takesPrefill,
    'system text in the middle': facts.takesSystemInMiddle,
    'no JSON Schema': !facts.takesOutputSchema,
    'no tools beside a format': !facts.takesToolsWithFormat,
    'thoughts bound to the conversation': facts.bindsThinking,
    'thinks by default': facts.thinksByDefault,
    'tools without thinking in chat': facts.toolsNeedNoEffort,
    'reasoning back with calls': facts.wantsReasoningText,
    [`1M context: ${anthropic}, at Bedrock ${bedrock}`]: facts.family === 'claude' && bedrock !== 'none',
    [`\`${facts.limitField}\``]: facts.limitField !== null,
  };
  return Object.entries(texts)
    .flatMap(([text, is]) => (is ? [text] : []))
    .join('; ');
}
