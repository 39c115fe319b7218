import { RecentMap } from './recent-map.ts';

/**
 * Programs in reports of runs, with the products in their `User-Agent` (RFC 9110 §10.1.5). Programs stand before the
 * frameworks they are made with, and these before SDKs, because a value may name all three. A product matches as a
 * whole, or by its beginning with `*`.
 */
const products = {
  'claude-code': ['claude-cli', 'claude-code'],
  codex: ['codex_*', 'codex-*', 'codex'],
  'gemini-cli': ['geminicli', 'geminicli-*'],
  'qwen-code': ['qwencode', 'qwen-code'],
  opencode: ['opencode'],
  aider: ['aider'],
  n8n: ['n8n'],
  langchain: ['langchain*'],
  'pydantic-ai': ['pydantic-ai'],
  'openai-agents': ['agents'],
  instructor: ['instructor'],
  litellm: ['litellm'],
  'vercel-ai-sdk': ['ai', 'ai-sdk', 'ai-sdk-*'],
  'openai-sdk': ['openai', 'asyncopenai', 'azureopenai', 'asyncazureopenai'],
  'anthropic-sdk': ['anthropic', 'asyncanthropic'],
  'google-genai-sdk': ['google-genai-sdk'],
  curl: ['curl'],
} as const;

/** `other` for every program outside of the list. */
export type ClientName = keyof typeof products | 'other';

const named = Object.entries(products) as [ClientName, readonly string[]][];
export const clientNames: readonly ClientName[] = [...named.map(([name]) => name), 'other'];

/** A longer value is read up to here, and not remembered: a part of it would hold the whole in memory. */
const maxValueChars = 512;
const recent = new RecentMap<{ name: ClientName }>(256);

/** The program named in the value of `User-Agent`. Any client can claim to be another: for reports, not for rights. */
export function clientNamed(userAgent: string | undefined): ClientName {
  if (userAgent === undefined) return 'other';
  if (userAgent.length > maxValueChars) return nameIn(userAgent.slice(0, maxValueChars));
  return recent.getOrMake(userAgent, () => ({ name: nameIn(userAgent) })).name;
}

function nameIn(userAgent: string): ClientName {
  const programs = productsOf(userAgent);
  const isNamed = (product: string): boolean =>
    product.endsWith('*')
      ? programs.some((one) => one.startsWith(product.slice(0, -1)))
      : programs.includes(product);
  return named.find(([, names]) => names.some(isNamed))?.[0] ?? 'other';
}

/** The products of a value in lower case, without versions and comments. */
function productsOf(userAgent: string): string[] {
  return userAgent
    .toLowerCase()
    .replace(/\([^()]*\)/g, ' ')
    .split(/\s+/)
    .map((part) => part.split('/', 1)[0] ?? '');
}
