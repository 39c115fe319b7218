import type { Claude, HostBetas } from './hosted-messages.ts';

/** Models with a beta: from a version of Claude on, of some plain names or of all. */
interface Taken {
  since: number;
  names?: RegExp;
}

const larger = /opus|sonnet/;

/**
 * Betas of Anthropic taken by Bedrock; it refuses a request with any other (`invalid beta flag`). Those of Anthropic's
 * own servers, like the ones of files, skills and Claude Code, are not among them. Later versions take the betas of
 * earlier ones
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html;
 * those of 2026 by LiteLLM's anthropic_beta_headers_config.json, read on 2026-11-29).
 */
const known: ReadonlyMap<string, readonly Taken[]> = new Map([
  ['compact-2026-01-12', [{ since: 406 }]],
  ['computer-use-2024-10-22', [{ since: 305 }]],
  ['computer-use-2025-01-24', [{ since: 307 }]],
  ['computer-use-2025-11-24', [{ since: 405 }]],
  ['context-1m-2025-08-07', [{ since: 400, names: larger }]],
  ['context-management-2025-06-27', [{ since: 405 }]],
  ['dangerous-tool-use-2026-09-03', [{ since: 500 }]],
  ['dev-full-thinking-2025-05-14', [{ since: 400 }]],
  ['effort-2025-11-24', [{ since: 405, names: /opus/ }, { since: 406 }]],
  ['fine-grained-tool-streaming-2025-05-14', [{ since: 307 }]],
  ['interleaved-thinking-2025-05-14', [{ since: 400 }]],
  ['mid-conversation-output-config-2026-07-01', [{ since: 500 }]],
  ['mid-conversation-tool-changes-2026-07-01', [{ since: 500 }]],
  ['output-128k-2025-02-19', [{ since: 307 }]],
  ['thinking-binding-controls-2026-08-01', [{ since: 501 }]],
  ['thinking-display-updates-2026-08-18', [{ since: 500 }]],
  ['token-efficient-tools-2025-02-19', [{ since: 307 }]],
  ['tool-examples-2025-10-29', [{ since: 405, names: larger }]],
  ['tool-search-tool-2025-10-19', [{ since: 405, names: larger }]],
]);

/** Bedrock's names of betas, where different from Anthropic's. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** Betas of Anthropic at Bedrock. */
export const bedrockBetas: HostBetas = {
  nameOf: (beta, claude) => {
    const name = renamed.get(beta) ?? beta;
    return takes(claude, name) ? name : null;
  },
  isKnown: (beta, claude) => takes(claude, beta),
};

/** A model without a version, like that of an operator's own profile, is thought to take all. */
function takes({ name, version }: Claude, beta: string): boolean {
  const models = known.get(beta);
  if (version === null || models === undefined) return models !== undefined;
  return models.some(({ since, names }) => version >= since && (names?.test(name) ?? true));
}
