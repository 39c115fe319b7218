import type { Fields } from '@gatehouse/kit/fields';

/**
 * The parameters of an agent, which have the names of chat completions, as responses have them. Those that are named
 * otherwise or missing there are left out.
 */
export function asResponses(defaults: Fields): Fields {
  const { max_completion_tokens, max_tokens, temperature, top_p } = defaults;
  const most = max_completion_tokens ?? max_tokens;
  return {
    ...(typeof most === 'number' && { max_output_tokens: most }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof top_p === 'number' && { top_p }),
  };
}

/** Names of those that are left out. */
export function unsupportedInResponses(defaults: Fields): string[] {
  return Object.keys(defaults).filter((name) => !taken.has(name));
}

const taken = new Set(['max_completion_tokens', 'max_tokens', 'temperature', 'top_p']);
