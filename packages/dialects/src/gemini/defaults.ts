import type { Fields } from '@gatehouse/kit/fields';

/**
 * The parameters of an agent, which have OpenAI's names, as fields of `generationConfig`. Those that Google's API has no
 * field for are left out.
 */
export function asGemini(defaults: Fields): Fields {
  const { max_completion_tokens, max_tokens, temperature, top_p, stop, seed } = defaults;
  const most = max_completion_tokens ?? max_tokens;
  const stops = typeof stop === 'string' ? [stop] : stop;
  return {
    ...(typeof most === 'number' && { maxOutputTokens: most }),
    ...(Array.isArray(stops) && stops.length > 0 && { stopSequences: stops as unknown[] }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { topP: top_p }),
    ...(typeof seed === 'number' && { seed }),
  };
}

/** Names of those that are left out. */
export function unsupportedInGemini(defaults: Fields): string[] {
  return Object.keys(defaults).filter((name) => !taken.has(name));
}

const taken = new Set(['max_completion_tokens', 'max_tokens', 'temperature', 'top_p', 'stop', 'seed']);
