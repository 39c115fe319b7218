import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { askForKey, hasExpired, isDue, renewKey, revokeKey, type StartedLogin } from '../device-key.ts';
import { readAll } from '../inputs.ts';
import { checkedProfile, type Profile } from '../profiles.ts';
import { addShared } from '../resource-commands.ts';
import { UsageError } from '../usage-error.ts';

interface Whoami {
  key_id: string;
  role: string;
  tenant_id: string | null;
  scopes: string[];
}

interface LoginOptions extends SharedOptions {
  url?: string;
  key?: string;
  open?: boolean;
  refresh?: boolean;
}

/** `login`, `logout`, `whoami`, `key`. */
export function addLogin(program: Command, context: Context): void {
  addShared(program.command('login'))
    .description('keep the address of a gateway and a key for it, which you confirm in a browser')
    .option(
      '--url <url>',
      'such as https://gatehouse.example.com',
      context.surroundings.environment['GATEHOUSE_URL'],
    )
    .option(
      '--key <key>',
      'an API key that you have; - reads it from standard input, where no list of processes shows it',
    )
    .option('--open', 'open the page in your browser')
    .option('--refresh', 'renew the key of the profile if it is in the last third of its lifetime')
    .addHelpText(
      'after',
      '\nExamples:\n  gatehouse login --url https://gatehouse.example.com\n  pass gatehouse | gatehouse login --url https://gatehouse.example.com --key -\n',
    )
    .action(async (options: LoginOptions) => {
      if (options.refresh === true) await refresh(context, options);
      else await logIn(context, options);
    });

  addShared(program.command('logout'))
    .description(
      'forget the address and the key of a profile, and revoke a key that you confirmed in a browser',
    )
    .addHelpText('after', '\nExample:\n  gatehouse logout --profile production\n')
    .action(async (options: SharedOptions) => {
      const name = context.nameOf(options);
      const profile = await context.profiles.get(name);
      const isRevoked = profile.device !== undefined;
      if (isRevoked) await revokeKey(context.strangerOf(profile.url), profile);
      const removed = await context.profiles.remove(name);
      context.output(options).answer({ profile: removed, removed: true, revoked: isRevoked });
    });

  addShared(program.command('whoami'))
    .description('the key in use, its role, tenant and scopes')
    .addHelpText('after', '\nExample:\n  gatehouse whoami\n')
    .action(async (options: SharedOptions) => {
      const client = await context.client(options);
      context.output(options).answer(await client.json({ method: 'GET', path: '/v1/whoami' }));
    });

  addShared(program.command('key'))
    .description('print the key in use, renewed if it is time: the `apiKeyHelper` of Claude Code')
    .addHelpText('after', '\nExample:\n  curl -H "Authorization: Bearer $(gatehouse key)" …\n')
    .action(async (options: SharedOptions) => {
      const { key } = checkedProfile(await usableProfile(context, options));
      const output = context.output(options);
      if (output.isData) output.data({ key });
      else output.line(key);
    });
}

async function logIn(context: Context, options: LoginOptions): Promise<void> {
  const { url, key } = options;
  if (url === undefined) throw new UsageError('Missing: --url');
  const profile =
    key === undefined ? await confirmed(context, url, options) : await profileOfKey(context, url, key);
  const client = context.clientOf(profile);
  const who = await client.json<Whoami>({ method: 'GET', path: '/v1/whoami' });
  const checked = { ...profile, ...checkedProfile(profile) };
  const { name, active, urlBefore } = await context.profiles.keep(context.nameOf(options), checked);
  const output = context.output(options);
  if (output.isData) {
    output.data({ profile: name, active_profile: active, ...who });
    return;
  }
  const tenant = who.tenant_id === null ? '' : ` of tenant ${who.tenant_id}`;
  output.line(`Logged in to ${checked.url} as ${who.role}${tenant} (profile "${name}").`);
  if (urlBefore !== undefined && urlBefore !== checked.url)
    output.line(`The profile was for ${urlBefore} before.`);
  if (active !== name)
    output.line(`The active profile is still "${active}". To change it: gatehouse profile use ${name}`);
}

async function profileOfKey({ surroundings }: Context, url: string, text: string): Promise<Profile> {
  return checkedProfile({ url, key: text === '-' ? (await readAll(surroundings.stdin)).trim() : text });
}

/** The profile of a key the person confirms in a browser. */
async function confirmed(context: Context, url: string, options: LoginOptions): Promise<Profile> {
  const client = context.strangerOf(url);
  const { signal, open } = context.surroundings;
  const output = context.output(options);
  const show = (started: StartedLogin): void => {
    const page = pageOf(started, url);
    if (output.isData) {
      const { user_code, expires_in } = started;
      output.data({ verification_uri: page, user_code, expires_in });
    } else {
      output.line(`Open ${page}`);
      output.line(`and allow the code ${started.user_code}. Ctrl-C gives up.`);
    }
    if (options.open === true) open(page);
  };
  return { url, ...(await askForKey(client, { signal, show })) };
}

/** The page with the code. Throws for an address unfit for a browser. */
function pageOf({ verification_uri_complete: page }: StartedLogin, url: string): string {
  const parsed = new URL(page, url);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')
    throw new UsageError('The gateway names a page that is neither https nor http.');
  return parsed.href;
}

/** Renews the key of a profile in the last third of its lifetime. One of several commands at once does. */
async function refresh(context: Context, options: SharedOptions): Promise<Profile> {
  const name = context.nameOf(options);
  const profile = await context.profiles.get(name);
  if (profile.device === undefined)
    throw new UsageError('The key of this profile was given, so it is not renewed. Log in without --key.');
  if (!isDue(profile)) return profile;
  return context.profiles.change(name, async (current) =>
    isDue(current)
      ? { ...current, ...(await renewKey(context.strangerOf(current.url), current)) }
      : undefined,
  );
}

/** The profile with a valid key. While the gateway can't renew it, a key is good until it expires. */
async function usableProfile(context: Context, options: SharedOptions): Promise<Profile> {
  const profile = await context.profile(options);
  if (!isDue(profile)) return profile;
  try {
    return await refresh(context, options);
  } catch (error) {
    if (hasExpired(profile)) throw error;
    return profile;
  }
}
