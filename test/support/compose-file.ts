import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

/** The part of the Compose specification that deploy/compose uses: other members are mistakes. */
const duration = z.string().regex(/^\d+(ms|s|m)$/);
const bytes = z.string().regex(/^\d+[kmg]$/);
const condition = z.strictObject({
  condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
});
/** The short form for a volume of Docker, the long one for a folder. */
const mount = z.union([
  z.string(),
  z.strictObject({
    type: z.literal('bind'),
    source: z.string().startsWith('./'),
    target: z.string(),
    read_only: z.literal(true),
    bind: z.strictObject({ create_host_path: z.literal(false) }),
  }),
]);
const service = z.strictObject({
  image: z.string(),
  profiles: z.array(z.string()).optional(),
  command: z.array(z.string()).optional(),
  user: z.string().optional(),
  read_only: z.boolean().optional(),
  tmpfs: z.array(z.string()).optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  pids_limit: z.int().optional(),
  mem_limit: bytes.optional(),
  shm_size: bytes.optional(),
  restart: z.string().regex(/^(no|always|unless-stopped|on-failure(:\d+)?)$/),
  stop_grace_period: duration.optional(),
  // A value of null comes from the env file or the shell. Numbers and booleans would be written as YAML pleases.
  environment: z.record(z.string().regex(/^[A-Z_]+$/), z.string().nullable()),
  ports: z.array(z.string()).optional(),
  networks: z.array(z.string()),
  volumes: z.array(mount).optional(),
  depends_on: z.record(z.string(), condition).optional(),
  healthcheck: z
    .strictObject({
      test: z.tuple([z.literal('CMD')], z.string()),
      interval: duration,
      timeout: duration,
      retries: z.int(),
      start_period: duration,
      start_interval: duration.optional(),
    })
    .optional(),
  logging: z.strictObject({ driver: z.string(), options: z.record(z.string(), z.string()) }),
});
const document = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), service),
  networks: z.record(z.string(), z.strictObject({ internal: z.boolean() }).nullable()),
  volumes: z.record(z.string(), z.null()),
});

export type ComposeService = z.output<typeof service>;
export type ComposeFile = z.output<typeof document>;

export const composeFolder = path.join(import.meta.dirname, '../../deploy/compose');

/**
 * Reads deploy/compose/compose.yaml as Docker Compose does: with merge keys and, from `variables`, the env file,
 * `${NAME:-default}`, `${NAME:?message}` and variables without a value. Throws for a missing one.
 */
export function readComposeFile(variables: Readonly<Record<string, string | undefined>>): ComposeFile {
  const parsed = parse(readFileSync(path.join(composeFolder, 'compose.yaml'), 'utf8'), {
    merge: true,
  }) as Record<string, unknown>;
  const members = Object.entries(parsed).filter(([name]) => !name.startsWith('x-'));
  const file = document.parse(filled(Object.fromEntries(members), variables));
  for (const { environment } of Object.values(file.services))
    for (const [name, value] of Object.entries(environment)) {
      const given = value ?? variables[name];
      if (given === undefined) Reflect.deleteProperty(environment, name);
      else environment[name] = given;
    }
  return file;
}

function filled(value: unknown, variables: Readonly<Record<string, string | undefined>>): unknown {
  if (typeof value === 'string') return interpolated(value, variables);
  if (Array.isArray(value)) return value.map((member) => filled(member, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, variables)]));
}

function interpolated(text: string, variables: Readonly<Record<string, string | undefined>>): string {
  const known = /\$\{([A-Z_]+)(?:(:[-?])([^}]*))?\}/g;
  if (text.replaceAll(known, '').includes('$'))
    throw new Error(`not an interpolation that is read here: ${text}`);
  return text.replaceAll(
    known,
    (_whole, name: string, kind: string | undefined, rest: string | undefined) => {
      const value = variables[name] ?? '';
      if (value !== '' || kind === undefined) return value;
      if (kind === ':?') throw new Error(`required variable ${name} is missing a value: ${rest ?? ''}`);
      return rest ?? '';
    },
  );
}
