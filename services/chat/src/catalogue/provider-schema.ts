import { z } from 'zod';
import type { UpstreamApi } from '../dialects/dialect.ts';

/** The providers of the operator's catalogue, each as its kind wants it. */

export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, _ and -');
const waitMs = z.int().min(1).max(3_600_000);

const address = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .transform((url) => url.replace(/\/+$/, ''));

/** Name of an environment variable that holds a secret. */
const variable = z.string().min(1).max(256);

/** A part of host names and paths. */
const place = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be lower-case letters, digits and -');

const common = {
  name,
  /** Until the provider's response headers. */
  timeout_ms: waitMs.default(600_000),
  /** Between two pieces of a response. */
  idle_timeout_ms: waitMs.default(120_000),
  max_retries: z.int().min(0).max(10).default(2),
  /** Whether it understands `stream_options.include_usage`. */
  stream_usage: z.boolean().default(true),
};

/** Providers that are reached at an address, and want a key or none. */
const withKey = {
  ...common,
  base_url: address,
  /** Absent for servers that want no key. */
  api_key_env: variable.optional(),
};

const azure = z.strictObject({
  ...common,
  kind: z.literal('azure'),
  /** The address of the resource, such as `https://contoso.openai.azure.com`. */
  base_url: address,
  /** Models are deployments of this version of the API; unless given, they are asked at `/openai/v1`. */
  api_version: z
    .string()
    .regex(/^[0-9A-Za-z.-]{1,40}$/, 'must be a version such as 2024-10-21')
    .optional(),
  api_key_env: variable,
});

const bedrock = z
  .strictObject({
    ...common,
    kind: z.literal('bedrock'),
    region: place,
    /** In place of the region's public one. */
    base_url: address.optional(),
    /** A key of Bedrock's own. */
    api_key_env: variable,
  })
  .transform((entry) => ({
    ...entry,
    base_url: entry.base_url ?? `https://bedrock-runtime.${entry.region}.amazonaws.com`,
  }));

export const provider = z.discriminatedUnion('kind', [
  /** Every server with OpenAI's wire format. */
  z.strictObject({ ...withKey, kind: z.literal('openai') }),
  z.strictObject({ ...withKey, kind: z.literal('anthropic') }),
  z.strictObject({ ...withKey, kind: z.literal('google') }),
  azure,
  bedrock,
]);
export type Provider = z.output<typeof provider>;
export type ProviderOf<Kind extends Provider['kind']> = Extract<Provider, { kind: Kind }>;

/** The APIs of each kind of provider; the first is that of a model which names none. */
export const apisOf: Record<Provider['kind'], readonly [UpstreamApi, ...UpstreamApi[]]> = {
  openai: ['chat', 'responses'],
  azure: ['chat', 'responses'],
  anthropic: ['messages'],
  google: ['gemini'],
  bedrock: ['converse', 'messages'],
};

/** The APIs in which each kind has embeddings. */
const embedsIn: Record<Provider['kind'], readonly UpstreamApi[]> = {
  openai: ['chat'],
  azure: ['chat'],
  anthropic: [],
  google: ['gemini'],
  bedrock: [],
};

/** Whether a model of the provider may have embeddings in an API. */
export function hasEmbeddings({ kind }: Pick<Provider, 'kind'>, api: UpstreamApi): boolean {
  return embedsIn[kind].includes(api);
}

/** The environment variables with secrets that a provider names. */
export function secretsOf(entry: Provider): string[] {
  return [entry.api_key_env].filter((named) => named !== undefined);
}
