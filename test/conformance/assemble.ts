import type { Document } from './exchanges.ts';

interface AssembledChoice {
  content: string;
  finishReason: string | null;
  /** Names of the tools that are called. */
  tools: string[];
  /** Tokens of the log probabilities. */
  tokens: string[];
  /** One for each time that the field was there. */
  refusals: unknown[];
}

interface Part {
  content?: string | null;
  refusal?: string | null;
  tool_calls?: { function?: { name?: string } }[];
}

interface WireChoice {
  index: number;
  message?: Part;
  delta?: Part;
  finish_reason: string | null;
  logprobs?: { content: { token: string }[] | null } | null;
}

/** Puts an answer together, the same way from one body and from the chunks of a stream. */
export function assemble(documents: readonly Document[]): { choices: AssembledChoice[] } {
  const choices: AssembledChoice[] = [];
  for (const wire of documents.flatMap((document) => (document['choices'] ?? []) as WireChoice[])) {
    const choice = (choices[wire.index] ??= {
      content: '',
      finishReason: null,
      tools: [],
      tokens: [],
      refusals: [],
    });
    const part = wire.message ?? wire.delta ?? {};
    choice.content += part.content ?? '';
    choice.finishReason = wire.finish_reason ?? choice.finishReason;
    choice.tools.push(...(part.tool_calls ?? []).flatMap((call) => call.function?.name ?? []));
    choice.tokens.push(...(wire.logprobs?.content ?? []).map(({ token }) => token));
    if (part.refusal !== undefined) choice.refusals.push(part.refusal);
  }
  return { choices };
}
