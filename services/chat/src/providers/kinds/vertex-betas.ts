import type { HostBetas } from './hosted-messages.ts';

/**
 * Betas of Anthropic taken by Vertex AI, and those it refuses (`Unexpected value(s)`), by
 * https://github.com/BerriAI/litellm/blob/main/litellm/anthropic_beta_headers_config.json, read on 2026-11-29. Others may
 * be newer than both lists and go on.
 */
const taken: ReadonlySet<string> = new Set([
  'compact-2026-01-12',
  'compact-2026-09-04',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
  'context-1m-2025-08-07',
  'context-management-2025-06-27',
  'dangerous-tool-use-2026-09-03',
  'interleaved-thinking-2025-05-14',
  'per-turn-control-2026-07-01',
  'thinking-binding-controls-2026-08-01',
  'thinking-display-updates-2026-08-18',
  'tool-search-tool-2025-10-19',
  'web-search-2025-03-05',
]);
const refused: ReadonlySet<string> = new Set([
  'adaptive-thinking-2026-01-28',
  'advisor-tool-2026-03-01',
  'code-execution-2025-05-22',
  'code-execution-2025-08-25',
  'effort-2025-11-24',
  'fast-mode-2026-02-01',
  'files-api-2025-04-14',
  'fine-grained-tool-streaming-2025-05-14',
  'mcp-client-2025-04-04',
  'mcp-client-2025-11-20',
  'output-128k-2025-02-19',
  'prompt-caching-scope-2026-01-05',
  'skills-2025-10-02',
  'structured-outputs-2025-11-13',
  'structured-outputs-2025-12-15',
  'token-efficient-tools-2025-02-19',
  'web-fetch-2025-09-10',
]);
const renamed: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** Betas of Anthropic at Vertex AI. */
export const vertexBetas: HostBetas = {
  nameOf: (beta) => (refused.has(beta) ? null : (renamed.get(beta) ?? beta)),
  isKnown: (beta) => taken.has(beta),
};
