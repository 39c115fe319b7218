import type { HostBetas } from './hosted-messages.ts';

/** Models with a beta: from a version of Claude on, of some families or of all. */
interface Taken {
  since: number;
  families?: readonly string[];
}

const larger = ['opus', 'sonnet'] as const;

/**
 * Betas of Anthropic taken by Bedrock; it refuses a request with any other (`invalid beta flag`). Those of Anthropic's
 * own servers, like the ones of files, skills and Claude Code, are not among them. Later versions take the betas of
 * earlier ones
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html;
 * those of 2026 by LiteLLM's anthropic_beta_headers_config.json, read on 2026-11-29).
 */
const known: ReadonlyMap<string, readonly Taken[]> = new Map([
  ['compact-2026-01-12', [{ since: 4.6 }]],
  ['computer-use-2024-10-22', [{ since: 3.5 }]],
  ['computer-use-2025-01-24', [{ since: 3.7 }]],
  ['computer-use-2025-11-24', [{ since: 4.5 }]],
  ['context-1m-2025-08-07', [{ since: 4, families: larger }]],
  ['context-management-2025-06-27', [{ since: 4.5 }]],
  ['dangerous-tool-use-2026-09-03', [{ since: 5 }]],
  ['dev-full-thinking-2025-05-14', [{ since: 4 }]],
  ['effort-2025-11-24', [{ since: 4.5, families: ['opus'] }, { since: 4.6 }]],
  ['fine-grained-tool-streaming-2025-05-14', [{ since: 3.7 }]],
  ['interleaved-thinking-2025-05-14', [{ since: 4 }]],
  ['mid-conversation-output-config-2026-07-01', [{ since: 5 }]],
  ['mid-conversation-tool-changes-2026-07-01', [{ since: 5 }]],
  ['output-128k-2025-02-19', [{ since: 3.7 }]],
  ['thinking-binding-controls-2026-08-01', [{ since: 5.1 }]],
  ['thinking-display-updates-2026-08-18', [{ since: 5 }]],
  ['token-efficient-tools-2025-02-19', [{ since: 3.7 }]],
  ['tool-examples-2025-10-29', [{ since: 4.5, families: larger }]],
  ['tool-search-tool-2025-10-19', [{ since: 4.5, families: larger }]],
]);

/** Bedrock's names of betas, where different from Anthropic's. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** Betas of Anthropic at Bedrock. */
export const bedrockBetas: HostBetas = {
  nameOf: (beta, model) => {
    const name = renamed.get(beta) ?? beta;
    return takes(claudeIn(model), name) ? name : null;
  },
  isKnown: (beta, model) => takes(claudeIn(model), beta),
};

interface Claude {
  family: string;
  version: number;
}

/** Older names have the version before the family. A date or another number of several digits is no minor version. */
const names = [
  /claude-(?<family>[a-z]+)-(?<major>\d{1,2})(?:-(?<minor>\d)(?!\d))?(?!\d)/,
  /claude-(?<major>\d)(?:-(?<minor>\d))?-(?<family>[a-z]+)/,
];

/** Null for a name without a version, like the one of an operator's own profile. */
function claudeIn(model: string): Claude | null {
  for (const name of names) {
    const { family = '', major, minor = '0' } = name.exec(model)?.groups ?? {};
    if (major !== undefined) return { family, version: Number(`${major}.${minor}`) };
  }
  return null;
}

/** A model without a version is thought to take all. */
function takes(claude: Claude | null, beta: string): boolean {
  const models = known.get(beta);
  if (claude === null || models === undefined) return models !== undefined;
  return models.some(
    ({ since, families }) => claude.version >= since && (families?.includes(claude.family) ?? true),
  );
}
