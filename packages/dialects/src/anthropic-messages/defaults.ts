import type { Fields } from '@gatehouse/kit/fields';

/** The highest that Anthropic takes; OpenAI takes 2. */
const maxTemperature = 1;

/**
 * The parameters of an agent, which have OpenAI's names, as Anthropic's API has them. Those that it has no field for are
 * left out, and `top_p` beside `temperature`, which its newer models refuse.
 */
export function asAnthropic(defaults: Fields): Fields {
  const { max_completion_tokens, max_tokens, temperature, top_p, stop } = defaults;
  const most = max_completion_tokens ?? max_tokens;
  const stops = typeof stop === 'string' ? [stop] : stop;
  return {
    ...(typeof most === 'number' && { max_tokens: most }),
    ...(Array.isArray(stops) && stops.length > 0 && { stop_sequences: stops as unknown[] }),
    ...(typeof temperature === 'number'
      ? { temperature: Math.min(maxTemperature, temperature) }
      : typeof top_p === 'number' && { top_p }),
  };
}

/** Names of those that are left out. */
export function unsupportedInAnthropic(defaults: Fields): string[] {
  const isTwice = typeof defaults['temperature'] === 'number';
  return Object.keys(defaults).filter((name) => !taken.has(name) || (name === 'top_p' && isTwice));
}

const taken = new Set(['max_completion_tokens', 'max_tokens', 'temperature', 'top_p', 'stop']);

/** Those of them that are refused beside thinking. */
export const samplingNames: readonly string[] = ['temperature', 'top_p'];
