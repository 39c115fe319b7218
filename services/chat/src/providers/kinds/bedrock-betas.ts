/**
 * Betas of Anthropic that Bedrock takes; it refuses a request with any other (`invalid beta flag`). Those of Anthropic's own
 * servers, such as of files, skills and Claude Code, are not among them
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html).
 */
const known: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dev-full-thinking-2025-05-14',
  'effort-2025-11-24',
  'fine-grained-tool-streaming-2025-05-14',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'token-efficient-tools-2025-02-19',
  'tool-examples-2025-10-29',
  'tool-search-tool-2025-10-19',
]);

/** Bedrock's names of betas that differ from Anthropic's. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** The betas of a request that Bedrock knows, by its names. */
export function bedrockBetas(asked: readonly string[]): string[] {
  const named = asked.map((beta) => renamed.get(beta) ?? beta);
  return [...new Set(named.filter((beta) => known.has(beta)))];
}

const maxLost = 20;
const maxNameChars = 100;

/** Betas of a request that Bedrock doesn't know, as far as a header can name them. */
export function lostBetas(asked: readonly string[]): string[] {
  const lost = asked.filter((beta) => !known.has(renamed.get(beta) ?? beta));
  return lost.slice(0, maxLost).map((beta) => beta.slice(0, maxNameChars));
}
