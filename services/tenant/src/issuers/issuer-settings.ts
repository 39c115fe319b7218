import { roles, scopes, scopesOf } from '@gatehouse/contract/scopes';
import { slug } from '@gatehouse/contract/fields';
import { maxToolsetsOfKey } from '@gatehouse/contract/keys';
import { isUuid } from '@gatehouse/kit/ids';
import { parserProblem } from '@gatehouse/kit/parser-problem';
import { parse } from 'yaml';
import { z } from 'zod';

/** The operator's file of OpenID Connect issuers: `OIDC_ISSUERS`. */

const text = (max: number) => z.string().min(1).max(max);
const names = (max: number, maxLength: number) => z.array(text(maxLength)).max(max);
const tenantRoles = roles.filter((role) => role !== 'owner');

const mapping = z
  .strictObject({
    group: text(512).optional(),
    claim: z.strictObject({ name: text(128), value: text(512) }).optional(),
    /** By id or slug: a name in the form of an id is one. */
    tenant: slug,
    role: z.enum(tenantRoles),
    scopes: z.array(z.enum(scopes)).min(1).optional(),
    toolsets: z.array(slug).max(maxToolsetsOfKey).optional(),
    client_settings: slug.optional(),
  })
  .superRefine((mapping, context) => {
    if ((mapping.group === undefined) === (mapping.claim === undefined))
      context.addIssue({ code: 'custom', message: 'needs either group or claim' });
    for (const scope of mapping.scopes ?? [])
      if (!scopesOf(mapping.role).includes(scope))
        context.addIssue({
          ...{ code: 'custom', path: ['scopes'] },
          message: `the role ${mapping.role} has no scope ${scope}`,
        });
  });
export type Mapping = z.output<typeof mapping>;

/** Microsoft's issuers of all directories: tokens have the issuer of each person's directory. */
const anyDirectory = /^https:\/\/login\.microsoftonline\.com\/(?:common|organizations|consumers)\//;

const issuer = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/,
      'must be 1 to 32 lower-case letters, digits and hyphens',
    ),
  issuer: z
    .string()
    .max(1_024)
    .superRefine((issuerUrl, context) => {
      const url = URL.parse(issuerUrl);
      if (url === null || !['https:', 'http:'].includes(url.protocol) || url.username + url.password !== '')
        context.addIssue({ code: 'custom', message: 'must be a URL with https, without user info' });
      else if (url.search !== '' || url.hash !== '')
        context.addIssue({ code: 'custom', message: 'must have neither query nor fragment' });
      else if (anyDirectory.test(issuerUrl))
        context.addIssue({ code: 'custom', message: 'must name one directory in place of all' });
    }),
  client_id: text(512),
  client_secret_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable')
    .optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'must be one scope'))
    .max(50)
    .default(['openid', 'profile']),
  user_claim: text(128).default('sub'),
  user_prefix: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable ASCII characters without spaces')
    .optional(),
  shares_users: z.boolean().default(false),
  groups_claim: text(128).default('groups'),
  mappings: z.array(mapping).max(1_000).default([]),
  owner_groups: names(100, 512).default([]),
});

const file = z.strictObject({ issuers: z.array(issuer).max(20) });

/** An issuer, with the secret named in its settings. */
export interface IssuerSettings extends z.output<typeof issuer> {
  clientSecret: string | undefined;
}

export interface IssuersText {
  text: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Whether a host may be called by http. */
  allowsHttp: (host: string) => boolean;
}

/** Every problem of the file, a line each. */
export class IssuersError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'IssuersError';
    this.problems = problems;
  }
}

/** Reads the file. Throws one {@link IssuersError} with every problem, and no secret. */
export function readIssuers({ text: yaml, environment, allowsHttp }: IssuersText): IssuerSettings[] {
  const parsed = file.safeParse(parsedYaml(yaml));
  if (!parsed.success)
    throw new IssuersError(
      parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the file'}: ${message}`),
    );
  const { issuers } = parsed.data;
  const problems = issuers.flatMap((one, index) => {
    const at = `issuers.${index}`;
    const { issuer: url, client_secret_env: secretName } = one;
    const { protocol, hostname } = new URL(url);
    return [
      ...(issuers.findIndex((other) => other.name === one.name) < index
        ? [`${at}.name: is there twice`]
        : []),
      ...(issuers.findIndex((other) => other.issuer === url) < index ? [`${at}.issuer: is there twice`] : []),
      ...(protocol === 'http:' && !allowsHttp(hostname)
        ? [`${at}.issuer: http is for hosts that EGRESS_ALLOW names`]
        : []),
      ...(secretName !== undefined && (environment[secretName] ?? '') === ''
        ? [`${at}.client_secret_env: the variable ${secretName} is not set`]
        : []),
      ...(one.mappings.length + one.owner_groups.length === 0
        ? [`${at}: needs mappings or owner_groups, or no person can log in`]
        : []),
      ...issuers.slice(0, index).flatMap((other) => sharedUsers(at, one, other)),
    ];
  });
  if (problems.length > 0) throw new IssuersError(problems);
  return issuers.map((one) => ({
    ...one,
    scopes: [...new Set(['openid', ...one.scopes])],
    clientSecret: one.client_secret_env === undefined ? undefined : environment[one.client_secret_env],
  }));
}

type ParsedIssuer = z.output<typeof issuer>;

/** The problem of two issuers by which two people could be the same user of a tenant. */
function sharedUsers(at: string, one: ParsedIssuer, other: ParsedIssuer): string[] {
  const [prefix, others] = [one.user_prefix ?? '', other.user_prefix ?? ''];
  const isApart = !prefix.startsWith(others) && !others.startsWith(prefix);
  if (isApart || (one.shares_users && other.shares_users)) return [];
  const tenant = tenantsOfUsers(one).find((name) =>
    tenantsOfUsers(other).some((known) => mayBeOne(name, known)),
  );
  if (tenant === undefined) return [];
  const both = `gives the role user in ${tenant}, and so does the issuer ${other.name}`;
  return [
    `${at}: ${both}: a person of one could be a user of the other. Set user_prefix for both, where neither begins with the other, or shares_users: true for both if a user of one is the same person at the other`,
  ];
}

/** Whether two names may be of one tenant: the slug of an id is not known here. */
function mayBeOne(name: string, other: string): boolean {
  return name === other || isUuid(name) !== isUuid(other);
}

function tenantsOfUsers({ mappings }: ParsedIssuer): string[] {
  return mappings.flatMap(({ role, tenant }) => (role === 'user' ? tenant : []));
}

function parsedYaml(yaml: string): unknown {
  try {
    return parse(yaml, { maxAliasCount: 100 });
  } catch (error) {
    throw new IssuersError([`not valid YAML: ${parserProblem(error)}`]);
  }
}
