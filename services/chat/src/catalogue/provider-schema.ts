import { z } from 'zod';
import { bedrockEmbedder, vertexTextsPerCall } from '@gatehouse/dialects/bedrock-embedders';
import type { AnsweringModel } from '@gatehouse/dialects/dialect';
import type { ModelFamily } from '@gatehouse/dialects/model-names';
import type { UpstreamApi } from '@gatehouse/dialects/upstream-api';

/** The providers of the operator's catalogue, each as its kind wants it. */

export const name = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, _ and -');
/** Share of the calls, for one of several members. */
export const weight = z.int().min(1).max(1_000).default(1);
const waitMs = z.int().min(1).max(3_600_000);

const address = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .transform((url) => url.replace(/\/+$/, ''));

/** Name of an environment variable with a secret. */
const variable = z.string().min(1).max(256);

/** The file of a token, a key or credentials, which is read again when they are renewed. */
const file = z.string().min(1).max(4_096);

/** Keys among which calls are divided, in place of one. */
const keys = z
  .array(
    z
      .strictObject({ env: variable.optional(), file: file.optional(), weight })
      .refine(...oneOf('env', 'file')),
  )
  .min(1)
  .max(64)
  .optional();

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

/** Providers at an address, with or without a key. */
const withKey = {
  ...common,
  base_url: address,
  /** Absent if the server wants no key. */
  api_key_env: variable.optional(),
  keys,
};

const oneKey = [
  (entry: { api_key_env?: string | undefined; keys?: unknown }) =>
    entry.api_key_env === undefined || entry.keys === undefined,
  'must not have both api_key_env and keys',
] as const;

/** One of a path. */
const segment = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/, 'must be letters, digits, . _ : and -');

const entra = z
  .strictObject({
    tenant_id: segment,
    client_id: z.string().min(1).max(256),
    client_secret_env: variable.optional(),
    client_secret_file: file.optional(),
    /** A token of another issuer, standing for the client, as in Kubernetes. */
    token_file: file.optional(),
    authority_url: address.default('https://login.microsoftonline.com'),
    scope: z.string().min(1).max(1_024).default('https://cognitiveservices.azure.com/.default'),
  })
  .refine(...oneOf('client_secret_env', 'client_secret_file', 'token_file'));

const azure = z
  .strictObject({
    ...common,
    kind: z.literal('azure'),
    /** The address of the resource, like `https://contoso.openai.azure.com`. */
    base_url: address,
    /** Models are deployments of this version of the API; unless given, they are asked at `/openai/v1`. */
    api_version: z
      .string()
      .regex(/^[0-9A-Za-z.-]{1,40}$/, 'must be a version such as 2024-10-21')
      .optional(),
    api_key_env: variable.optional(),
    keys,
    /** Tokens of Microsoft Entra in place of a key. */
    entra: entra.optional(),
  })
  .refine(...oneOf('api_key_env', 'keys', 'entra'));

const vertex = z
  .strictObject({
    ...common,
    kind: z.literal('vertex'),
    project: segment,
    /** A region, a multi-region (`us`, `eu`), or `global`. */
    region: place,
    /** In place of Google's own, with its version. */
    base_url: address.optional(),
    /** The key of a service account, or the configuration of a workload identity federation. */
    credentials_file: file,
  })
  .transform((entry) => ({ ...entry, base_url: entry.base_url ?? `https://${vertexHost(entry.region)}/v1` }));

/** As Google's and Anthropic's SDKs have it. */
function vertexHost(region: string): string {
  if (region === 'global') return 'aiplatform.googleapis.com';
  return multiRegions.has(region)
    ? `aiplatform.${region}.rep.googleapis.com`
    : `${region}-aiplatform.googleapis.com`;
}

const multiRegions: ReadonlySet<string> = new Set(['us', 'eu']);

const bedrock = z
  .strictObject({
    ...common,
    kind: z.literal('bedrock'),
    region: place,
    /** In place of the region's public one. */
    base_url: address.optional(),
    /** A key of Bedrock's own. */
    api_key_env: variable.optional(),
    keys,
    /** AWS keys to sign requests with. */
    access_key: z
      .strictObject({ id_env: variable, secret_env: variable, session_token_env: variable.optional() })
      .optional(),
    /** A role for the bearer of another issuer's token, as in Kubernetes. */
    web_identity: z
      .strictObject({
        role_arn: z.string().regex(/^arn:[\w+=,.@:/-]{1,2000}$/, 'must be the ARN of a role'),
        token_file: file,
        session_name: z
          .string()
          .regex(/^[\w+=,.@-]{2,64}$/, 'must be 2 to 64 letters, digits and +=,.@-')
          .default('gatehouse'),
        /** In place of the region's public one. */
        sts_url: address.optional(),
      })
      .optional(),
    /** The credentials of the surroundings, as AWS's SDKs look for them. */
    default_credentials: z.literal(true).optional(),
  })
  .refine(...oneOf('api_key_env', 'keys', 'access_key', 'web_identity', 'default_credentials'))
  .transform((entry) => ({
    ...entry,
    base_url: entry.base_url ?? `https://bedrock-runtime.${entry.region}.amazonaws.com`,
  }));

/** A check of an object for one of some members, and its message. */
export function oneOf(...names: string[]): [(entry: object) => boolean, string] {
  const given = (entry: object): number =>
    names.filter((each) => Reflect.get(entry, each) !== undefined).length;
  return [(entry) => given(entry) === 1, `must have one of ${names.join(', ')}`];
}

export const provider = z.discriminatedUnion('kind', [
  /** Every server with OpenAI's wire format. */
  z.strictObject({ ...withKey, kind: z.literal('openai') }).refine(...oneKey),
  z.strictObject({ ...withKey, kind: z.literal('anthropic') }).refine(...oneKey),
  z.strictObject({ ...withKey, kind: z.literal('google') }).refine(...oneKey),
  azure,
  vertex,
  bedrock,
]);
export type Provider = z.output<typeof provider>;
export type ProviderOf<Kind extends Provider['kind']> = Extract<Provider, { kind: Kind }>;

/** The differences between kinds of providers, besides their files in `providers/kinds/`. */
interface KindTraits {
  /** The first is the default of a model. */
  apis: readonly [UpstreamApi, ...UpstreamApi[]];
  /** The API with embeddings; null for a kind without them. */
  embedsIn: UpstreamApi | null;
  /** Whether a model has embeddings, for kinds that know it by its name. */
  embeds?: (upstreamModel: string) => boolean;
  /** The API with moderations; absent for a kind without them. */
  moderatesIn?: UpstreamApi;
  /** Whether calls may carry a key, of a pool or of a tenant. */
  takesKeys: boolean;
  /** Whether every account reads the reasoning signatures of a vendor. */
  sharesSignatures: boolean;
  /** The families of all models with an API, where there is one. */
  families?: ReadonlyMap<UpstreamApi, ModelFamily>;
  /** The family that a model without a name is taken for where the client has the API of its vendor. */
  guessed?: { family: ModelFamily; vendor: string };
  /** The words of a 400 for a model whose tokens it can't count. */
  uncounted?: RegExp;
}

const kinds = {
  openai: {
    apis: ['chat', 'responses'],
    embedsIn: 'chat',
    moderatesIn: 'chat',
    takesKeys: true,
    sharesSignatures: false,
  },
  azure: { apis: ['chat', 'responses'], embedsIn: 'chat', takesKeys: true, sharesSignatures: false },
  anthropic: { apis: ['messages'], embedsIn: null, takesKeys: true, sharesSignatures: false },
  google: { apis: ['gemini'], embedsIn: 'gemini', takesKeys: true, sharesSignatures: false },
  vertex: {
    apis: ['gemini', 'messages'],
    embedsIn: 'gemini',
    embeds: (model) => vertexTextsPerCall(model) !== null,
    takesKeys: false,
    sharesSignatures: true,
  },
  bedrock: {
    apis: ['converse', 'messages'],
    embedsIn: 'converse',
    embeds: (model) => bedrockEmbedder(model) !== null,
    takesKeys: true,
    sharesSignatures: true,
    families: new Map([['messages', 'claude']]),
    guessed: { family: 'claude', vendor: 'anthropic' },
    uncounted: /\bcounting tokens\b|\bCountTokens\b/i,
  },
} as const satisfies Record<Provider['kind'], KindTraits>;

export function traitsOf(kind: Provider['kind']): KindTraits {
  return kinds[kind];
}

/** Kinds of providers with keys. */
export type KeyedKind = {
  [Kind in Provider['kind']]: (typeof kinds)[Kind]['takesKeys'] extends true ? Kind : never;
}[Provider['kind']];

/** Whether calls of a provider may carry a key. */
export function takesKeys(provider: Provider): provider is ProviderOf<KeyedKind> {
  return kinds[provider.kind].takesKeys;
}

/** Whether a model of the provider may have embeddings. */
export function hasEmbeddings(
  { kind }: Pick<Provider, 'kind'>,
  { api, upstreamModel }: AnsweringModel,
): boolean {
  const { embedsIn, embeds } = traitsOf(kind);
  return embedsIn === api && (embeds?.(upstreamModel) ?? true);
}

/** Whether a model of the provider may have moderations. */
export function hasModerations(
  { kind }: Pick<Provider, 'kind'>,
  { api }: Pick<AnsweringModel, 'api'>,
): boolean {
  return traitsOf(kind).moderatesIn === api;
}

/** Whether a provider has several keys, or may have. */
export function hasPool(entry: Provider): boolean {
  return takesKeys(entry) && entry.keys !== undefined;
}

/** Environment variables with secrets in an entry: members like `api_key_env`, at any depth. */
export function secretsOf(entry: object): string[] {
  return Object.entries(entry).flatMap(([member, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return secretsOf(value);
    return /^(?:.*_)?env$/.test(member) && typeof value === 'string' ? [value] : [];
  });
}
