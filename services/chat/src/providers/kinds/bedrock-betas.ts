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
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html).
 */
const known: ReadonlyMap<string, readonly Taken[]> = new Map([
  ['compact-2026-01-12', [{ since: 4.6 }]],
  ['computer-use-2024-10-22', [{ since: 3.5 }]],
  ['computer-use-2025-01-24', [{ since: 3.7 }]],
  ['computer-use-2025-11-24', [{ since: 4.5 }]],
  ['context-1m-2025-08-07', [{ since: 4, families: larger }]],
  ['context-management-2025-06-27', [{ since: 4.5 }]],
  ['dev-full-thinking-2025-05-14', [{ since: 4 }]],
  ['effort-2025-11-24', [{ since: 4.5, families: ['opus'] }, { since: 4.6 }]],
  ['fine-grained-tool-streaming-2025-05-14', [{ since: 3.7 }]],
  ['interleaved-thinking-2025-05-14', [{ since: 4 }]],
  ['output-128k-2025-02-19', [{ since: 3.7 }]],
  ['token-efficient-tools-2025-02-19', [{ since: 3.7 }]],
  ['tool-examples-2025-10-29', [{ since: 4.5, families: larger }]],
  ['tool-search-tool-2025-10-19', [{ since: 4.5, families: larger }]],
]);

/** Bedrock's names of betas, where different from Anthropic's. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['advanced-tool-use-2025-11-20', 'tool-search-tool-2025-10-19'],
]);

/** The betas of a request, as far as a model of Bedrock takes them, by Bedrock's names. */
export function bedrockBetas(requested: readonly string[], model: string): string[] {
  const claude = claudeIn(model);
  const named = requested.map((beta) => renamed.get(beta) ?? beta);
  return [...new Set(named.filter((beta) => takes(claude, beta)))];
}

/** Betas of a request not taken by a model of Bedrock, as far as a header can name them. */
export function lostBetas(requested: readonly string[], model: string): string[] {
  const claude = claudeIn(model);
  const lost = requested.filter((beta) => !takes(claude, renamed.get(beta) ?? beta));
  return lost.slice(0, 20).map((beta) => beta.slice(0, 100));
}

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
